/**
 * Whether an `Accept-Encoding` header allows gzip (RFC 9110, 12.5.3).
 *
 * @example
 * acceptsGzip('br;q=1.0, gzip;q=0.8'); // true
 * acceptsGzip('gzip;q=0'); // false
 */
export function acceptsGzip(header: string | string[] | undefined): boolean {
  const codings = new Map(
    String(header ?? '')
      .toLowerCase()
      .split(',')
      .map((coding) => {
        const [name = '', ...parameters] = coding.split(';').map((text) => text.trim());
        const weight = parameters.find((parameter) => parameter.startsWith('q='));
        return [name, weight === undefined ? 1 : Number(weight.slice(2))];
      }),
  );
  return (codings.get('gzip') ?? codings.get('*') ?? 0) > 0;
}
