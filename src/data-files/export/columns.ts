import type { ColumnSource } from 'hyparquet-writer';
import type { ColumnType } from '../tables.ts';

/** Column value. Values of type `text` can also be the bytes of their text. */
export type Value = Uint8Array | string | number | bigint | boolean | null;

/** Part of a binary copy, as bytes and as numbers. */
export type Chunk = { bytes: Uint8Array; view: DataView };

/** Values of a column that wait to be encoded. They are stored as compactly as possible, because there are millions. */
export type Column = {
  readonly length: number;
  /**
   * Adds a value of a binary copy.
   * @param length length of the value in bytes, negative for null
   * @param rows number of rows that get the value, or that each get an element of it
   */
  add: (chunk: Chunk, at: number, length: number, rows: number) => void;
  push: (value: Value) => void;
  /** Returns the values in the form that the writer expects, and removes them. */
  take: () => Omit<ColumnSource, 'name'>;
};

/** Reads a value of a binary copy. */
type Read = (chunk: Chunk, at: number, length: number) => Value;

/** Microseconds between 1970 and 2000, the epoch of PostgreSQL's times. */
const epochMicros = 946_684_800_000_000n;

/** Distance between the elements of an array, and the length of what precedes the first one's value, in bytes. */
const [elementLength, arrayHeaderLength] = [8, 24];

const readInt = ({ view }: Chunk, at: number): number => view.getInt32(at);

const readElement = ({ view }: Chunk, at: number, row: number): number =>
  view.getInt32(at + arrayHeaderLength + row * elementLength);

/** Texts that were read recently, by a hash of their bytes. Most texts repeat, and are then stored only once. */
const recentTexts: (Uint8Array | undefined)[] = new Array(4096);
const maxRecentLength = 64;

const readText: Read = ({ bytes }, at, length) => {
  if (length > maxRecentLength) return bytes.slice(at, at + length);
  let hash = length;
  for (let index = at; index < at + length; index++) hash = (Math.imul(hash, 31) + (bytes[index] as number)) | 0;
  const slot = (hash ^ (hash >>> 12)) & (recentTexts.length - 1);
  const recent = recentTexts[slot];
  if (recent !== undefined && recent.length === length && startsWith(bytes, at, recent)) return recent;
  const text = bytes.slice(at, at + length);
  recentTexts[slot] = text;
  return text;
};

function startsWith(bytes: Uint8Array, at: number, text: Uint8Array): boolean {
  for (let index = 0; index < text.length; index++) if (bytes[at + index] !== text[index]) return false;
  return true;
}

/** Column of values that can be null, or that have different lengths. */
class ValueColumn implements Column {
  #values: Value[] = [];
  readonly #read: Read;

  constructor(read: Read) {
    this.#read = read;
  }

  get length(): number {
    return this.#values.length;
  }

  add(chunk: Chunk, at: number, length: number, rows: number): void {
    const value = length < 0 ? null : this.#read(chunk, at, length);
    for (let row = 0; row < rows; row++) this.#values.push(value);
  }

  push(value: Value): void {
    this.#values.push(value);
  }

  take(): Omit<ColumnSource, 'name'> {
    const data = this.#values;
    this.#values = [];
    return { data };
  }
}

/** Number of values for which memory is reserved first. */
const firstCapacity = 16;

/** Column of 32-bit integers without null. */
class IntColumn implements Column {
  #values = new Int32Array(0);
  length = 0;
  readonly #read: (chunk: Chunk, at: number, row: number) => number;

  constructor(read: (chunk: Chunk, at: number, row: number) => number) {
    this.#read = read;
  }

  add(chunk: Chunk, at: number, length: number, rows: number): void {
    for (let row = 0; row < rows; row++) this.push(length < 0 ? null : this.#read(chunk, at, row));
  }

  push(value: Value): void {
    if (value === null) throw new Error('a column without null contains null');
    if (this.length === this.#values.length) {
      const values = new Int32Array(Math.max(firstCapacity, this.length * 2));
      values.set(this.#values);
      this.#values = values;
    }
    this.#values[this.length] = value as number;
    this.length += 1;
  }

  take(): Omit<ColumnSource, 'name'> {
    const data = this.#values.subarray(0, this.length);
    this.#values = new Int32Array(0);
    this.length = 0;
    return { data };
  }
}

/** Length of a UUID as text. */
const idLength = 36;

const [hexDigits, dash] = [Buffer.from('0123456789abcdef', 'latin1'), 45];

/** Writes a UUID as text. */
function writeId(text: Uint8Array, start: number, bytes: Uint8Array, at: number): void {
  let end = start;
  for (let index = 0; index < 16; index++) {
    if (index === 4 || index === 6 || index === 8 || index === 10) text[end++] = dash;
    const byte = bytes[at + index] as number;
    text[end++] = hexDigits[byte >> 4] as number;
    text[end++] = hexDigits[byte & 15] as number;
  }
}

/** Whether an ID equals the previous one. It compares the ends first, because IDs of the same time begin alike. */
function isRepeated(text: Uint8Array, start: number): boolean {
  for (let index = start + idLength - 1; index >= start; index--)
    if (text[index] !== text[index - idLength]) return false;
  return true;
}

/** Column of UUIDs as text, in one array. An ID whose first byte is zero is null. */
class IdColumn implements Column {
  #text = Buffer.alloc(0);
  length = 0;

  add({ bytes }: Chunk, at: number, length: number, rows: number): void {
    const first = this.#reserve();
    if (length >= 0) writeId(this.#text, first, bytes, at);
    for (let row = 1; row < rows; row++) {
      const start = this.#reserve();
      this.#text.copyWithin(start, first, first + idLength);
    }
  }

  push(value: Value): void {
    const start = this.#reserve();
    if (value === null) return;
    if (this.#text.write(value as string, start, 'latin1') !== idLength) throw new Error('an ID is not a UUID');
  }

  /** Adds an ID, and returns where its text begins. */
  #reserve(): number {
    const start = this.length * idLength;
    if (start === this.#text.length) {
      const text = Buffer.alloc(Math.max(firstCapacity * idLength, start * 2));
      text.set(this.#text);
      this.#text = text;
    }
    this.length += 1;
    return start;
  }

  take(): Omit<ColumnSource, 'name'> {
    const text = this.#text;
    const data = new Array<Uint8Array | null>(this.length);
    let id: Uint8Array | null = null;
    for (let index = 0; index < data.length; index++) {
      const start = index * idLength;
      if (text[start] === 0) id = null;
      else if (!isRepeated(text, start)) id = new Uint8Array(text.buffer, text.byteOffset + start, idLength);
      data[index] = id;
    }
    this.#text = Buffer.alloc(0);
    this.length = 0;
    // The encoding DELTA_BYTE_ARRAY would take half as long as compressing IDs, but not all engines can read it.
    return { data, encoding: 'PLAIN' };
  }
}

const createValues: Record<Exclude<ColumnType, 'id' | 'element' | 'ordinal'>, () => Column> = {
  text: () => new ValueColumn(readText),
  bool: () => new ValueColumn(({ bytes }, at) => bytes[at] === 1),
  int: () => new ValueColumn(readInt),
  micros: () => new ValueColumn(({ view }, at) => view.getBigInt64(at)),
  time: () => new ValueColumn(({ view }, at) => view.getBigInt64(at) + epochMicros),
};

/** Creates an empty column. */
export function createColumn(type: ColumnType, isOptional: boolean): Column {
  if (type === 'id') return new IdColumn();
  if (type === 'element') return new IntColumn(readElement);
  if (type === 'ordinal') return new IntColumn((_chunk, _at, row) => row + 1);
  return type === 'int' && !isOptional ? new IntColumn(readInt) : createValues[type]();
}
