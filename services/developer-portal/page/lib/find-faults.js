/**
 * The faults of a form's fields before it is sent, by JSON pointer. The server validates again; this only saves
 * a round trip, so it checks only the constraints that the fields declare.
 */
export function findFaults(form) {
  const faults = {};
  for (const field of form.elements) {
    if (!field.name || !field.validity || field.matches(':disabled')) continue;
    const fault = faultOf(field);
    if (fault) faults[`/${field.name}`] = fault;
  }
  return faults;
}

function faultOf(field) {
  const { validity } = field;
  const length = [...field.value.trim()].length;
  if (field.required && length === 0) return field.dataset.missing ?? 'Please fill this in.';
  if (field.minLength > 0 && [...field.value].length < field.minLength)
    return `At least ${field.minLength} characters.`;
  if (validity.typeMismatch)
    return field.type === 'email'
      ? 'This is not an e-mail address.'
      : 'Write a whole URL, like https://example.com/hooks.';
  if (validity.patternMismatch) return field.title;
  if (validity.rangeUnderflow || validity.rangeOverflow)
    return `Between ${field.min} and ${field.max}, please.`;
  return validity.valid ? undefined : field.validationMessage;
}
