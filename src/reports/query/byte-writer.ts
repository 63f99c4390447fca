/**
 * Builds text as bytes. It is used for responses with so many rows that intermediate strings would cost more than the
 * rows themselves.
 */
export type Writer = {
  /** Appends bytes, and reserves space for a number after them. */
  put: (bytes: Uint8Array) => void;
  /** Appends a number as JSON with at most six decimal places. It must follow a call to `put`. */
  number: (value: number) => void;
  /** Whether the current chunk is full. */
  isFull: () => boolean;
  /** Returns the bytes written since the previous chunk. */
  take: () => Buffer;
};

/**
 * Chunk size in bytes. Writing a chunk takes about a millisecond, so that large responses do not delay other requests.
 */
const pieceBytes = 262_144;
/** Space reserved for a number, in bytes. It is enough for any number. */
const numberBytes = 32;
/** Maximum length, in bytes, up to which copying byte by byte is faster. */
const fewBytes = 32;

const [minus, point, zero] = [45, 46, 48];
const unit = 1_000_000;
const maxInt32 = 0x7fffffff;

export function createWriter(): Writer {
  const room = pieceBytes + 16_384;
  let bytes = Buffer.allocUnsafeSlow(room);
  let at = 0;

  function put(source: Uint8Array): void {
    const start = at;
    const count = source.length;
    at = start + count;
    if (at + numberBytes > bytes.length) {
      const larger = Buffer.allocUnsafeSlow(2 * at + room);
      larger.set(bytes.subarray(0, start));
      bytes = larger;
    }
    const into = bytes;
    if (count > fewBytes) into.set(source, start);
    else for (let index = 0; index < count; index++) into[start + index] = source[index] as number;
  }

  /** Appends an integer from 0 to 2^31 with `count` digits, starting with the last digit. */
  function digits(value: number, count: number): void {
    const into = bytes;
    const start = at;
    at = start + count;
    let remaining = value;
    for (let index = start + count - 1; index >= start; index--) {
      const rest = (remaining / 10) | 0;
      into[index] = zero + remaining - rest * 10;
      remaining = rest;
    }
  }

  function number(value: number): void {
    if ((value | 0) === value && value >= 0) {
      digits(value, countDigits(value));
      return;
    }
    const size = Math.abs(value);
    if (size > maxInt32) {
      at += bytes.write(String(value), at, 'latin1');
      return;
    }
    const micros = Math.round(size * unit);
    if (value < 0 && micros > 0) bytes[at++] = minus;
    const whole = Math.floor(micros / unit);
    digits(whole, countDigits(whole));
    let decimals = (micros - whole * unit) | 0;
    if (decimals === 0) return;
    bytes[at++] = point;
    let count = 6;
    for (; decimals % 10 === 0; decimals = (decimals / 10) | 0) count -= 1;
    digits(decimals, count);
  }

  return {
    put,
    number,
    isFull: () => at >= pieceBytes,
    take() {
      const piece = bytes.subarray(0, at);
      bytes = Buffer.allocUnsafeSlow(room);
      at = 0;
      return piece;
    },
  };
}

function countDigits(value: number): number {
  if (value < 10) return 1;
  if (value < 100) return 2;
  if (value < 1000) return 3;
  let count = 4;
  for (let power = 10_000; value >= power; power *= 10) count += 1;
  return count;
}
