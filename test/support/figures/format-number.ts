/** Three significant figures for small numbers, no decimals for large ones. */
export const formatNumber = (value: number): string =>
  Math.abs(value) >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)));
