import { waitUntilPasses } from '../wait-until.ts';
import type { Visitor } from './open-browser.ts';

const LOOKS = [
  { width: 1280, height: 860, colorScheme: 'light' },
  { width: 360, height: 740, colorScheme: 'dark' },
] as const;

/** Expects the current page to be accessible and not to overflow: wide and narrow, light and
 * dark. */
export async function expectNoBarrier(
  { page, findBarriers, overflowPx }: Visitor,
  name: string,
): Promise<void> {
  for (const { colorScheme, ...size } of LOOKS) {
    await page.setViewportSize(size);
    await page.emulateMedia({ colorScheme });
    const look = `${name} at ${size.width} px, ${colorScheme}`;
    expect({ look, barriers: await findBarriers() }).toEqual({ look, barriers: [] });
    // Charts follow the width of the window a moment later.
    await waitUntilPasses(async () =>
      expect({ look, overflowPx: await overflowPx() }).toEqual({ look, overflowPx: 0 }),
    );
  }
}
