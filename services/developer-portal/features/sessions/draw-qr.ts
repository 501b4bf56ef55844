import { encodeQR } from 'qr';

/** White modules around the code, as the standard asks for. */
const BORDER = 4;

/** A QR code as one SVG path: a page with a strict content policy can draw it. */
export type QrDrawing = {
  /** Width and height in modules, with the border. */
  readonly size: number;
  /** The dark modules: the `d` of a path. */
  readonly path: string;
};

/**
 * @example
 * drawQr('otpauth://totp/…'); // { size: 41, path: 'M4 4h7v1h-7z…' }
 */
export function drawQr(text: string): QrDrawing {
  const rows = encodeQR(text, 'raw', { ecc: 'medium', border: BORDER });
  const runs = rows.flatMap((row, y) =>
    runsOf(row).map(({ x, width }) => `M${x} ${y}h${width}v1h-${width}z`),
  );
  return { size: rows.length, path: runs.join('') };
}

/** The runs of dark modules in a row. */
function runsOf(row: readonly boolean[]): { x: number; width: number }[] {
  const starts = row.flatMap((dark, x) => (dark && !row[x - 1] ? [x] : []));
  return starts.map((x) => {
    const end = row.indexOf(false, x);
    return { x, width: (end < 0 ? row.length : end) - x };
  });
}
