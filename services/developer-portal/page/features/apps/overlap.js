import { html } from '../../lib/html.js';
import { Field } from '../../ui/field.js';

const OVERLAPS = [
  [0, 'At once'],
  [1, 'After 1 hour'],
  [24, 'After 24 hours'],
  [72, 'After 3 days'],
  [168, 'After 7 days'],
];

/** How long a replaced key or secret stays valid beside its successor, in hours; the field is `overlapHours`. */
export const Overlap = ({
  label,
  fault,
}) => html`<${Field} label=${label} name="overlapHours" as="select" fault=${fault}>
  ${OVERLAPS.map(([hours, text]) => html`<option value=${hours} selected=${hours === 24}>${text}</option>`)}
<//>`;
