const MASK = (1n << 64n) - 1n;
const ROUNDS = 24;
/** Where the padding begins and ends: behind the 40 digits, and in the last of the 136 bytes that
 * one block takes. */
const PADDING = { firstLane: 5, lastLane: 16 } as const;

/**
 * The mixed-case form of an address by EIP-55: wallets often tell it in lower case, and a sign-in
 * message must have it so. The package has no dependencies, so the hash is written out here.
 *
 * @param address `0x` and 40 hexadecimal digits, of whatever case
 * @example
 * checksumAddress('0xfb6916095ca1df60bb79ce92ce3ea74c37c5d359');
 * // '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'
 */
export function checksumAddress(address: string): string {
  const digits = address.slice(2).toLowerCase();
  const hash = hashOf(digits);
  const mixed = [...digits].map((digit, place) => {
    // A byte's first digit is its upper half.
    const half = laneOf(hash, Math.floor(place / 16)) >> BigInt(4 * ((place % 16) ^ 1));
    return half & 8n ? digit.toUpperCase() : digit;
  });
  return `0x${mixed.join('')}`;
}

/** Keccak-256 of 40 ASCII characters: one block. @returns the lanes of the state, little-endian */
function hashOf(digits: string): bigint[] {
  const lanes: bigint[] = Array.from({ length: 25 }, () => 0n);
  for (const [place, digit] of [...digits].entries())
    xor(lanes, Math.floor(place / 8), BigInt(digit.charCodeAt(0)) << BigInt(8 * (place % 8)));
  xor(lanes, PADDING.firstLane, 1n);
  xor(lanes, PADDING.lastLane, 1n << 63n);
  permute(lanes);
  return lanes;
}

const laneOf = (lanes: readonly bigint[], place: number): bigint => lanes[place] ?? 0n;

function xor(lanes: bigint[], place: number, value: bigint): void {
  lanes[place] = laneOf(lanes, place) ^ value;
}

const rotate = (lane: bigint, by: number): bigint =>
  ((lane << BigInt(by)) | (lane >> BigInt(64 - by))) & MASK;

/** Keccak-f[1600], by its steps θ, ρ and π, χ, ι (FIPS 202, 3.2). */
function permute(lanes: bigint[]): void {
  let bits = 1;
  for (let round = 0; round < ROUNDS; round++) {
    const columns = [0, 1, 2, 3, 4].map((x) =>
      [0, 5, 10, 15, 20].reduce((sum, row) => sum ^ laneOf(lanes, x + row), 0n),
    );
    for (let place = 0; place < 25; place++)
      xor(lanes, place, laneOf(columns, (place + 4) % 5) ^ rotate(laneOf(columns, (place + 1) % 5), 1));

    let [x, y, moving] = [1, 0, laneOf(lanes, 1)];
    for (let step = 1; step <= ROUNDS; step++) {
      [x, y] = [y, (2 * x + 3 * y) % 5];
      const next = laneOf(lanes, x + 5 * y);
      lanes[x + 5 * y] = rotate(moving, ((step * (step + 1)) / 2) % 64);
      moving = next;
    }

    for (let row = 0; row < 25; row += 5) {
      const old = lanes.slice(row, row + 5);
      for (let at = 0; at < 5; at++)
        xor(lanes, row + at, ~laneOf(old, (at + 1) % 5) & MASK & laneOf(old, (at + 2) % 5));
    }

    for (let power = 0; power < 7; power++) {
      if (bits & 1) xor(lanes, 0, 1n << BigInt(2 ** power - 1));
      bits = ((bits << 1) ^ ((bits >> 7) * 0x171)) & 0xff;
    }
  }
}
