import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { defaultLimits, type Limits, writeTable } from '../../src/data-files/export/write-table.ts';
import type { Storage } from '../../src/data-files/storage.ts';
import type { DataTable } from '../../src/data-files/tables.ts';

const table: DataTable = {
  name: 'deliveries',
  columns: { delivery_id: ['id', ''], payload: ['text', ''] },
  from: '',
  writtenBy: '',
};
const storage: Storage = {
  put: async () => {},
  get: async () => null,
  list: async () => [],
  listUnfinished: async () => [],
  remove: async () => {},
};

const int32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};
const field = (bytes: Buffer): Buffer => Buffer.concat([int32(bytes.length), bytes]);

/** Returns a row of a binary copy. */
const rowOf = (publisherId: number, text: string): Buffer =>
  Buffer.concat([
    Buffer.from([0, 5]),
    ...[int32(publisherId), int32(9000), Buffer.from([0]), Buffer.alloc(16, 1), Buffer.from(text)].map(field),
  ]);

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
const usedBytes = (): number => {
  collectGarbage();
  // The first collection only marks buffers as unused. The second one waits until their memory is free.
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
};

const chunkBytes = 65_536;
const header = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), int32(0), int32(0)]);

/** Writes chunks, and returns the largest memory on the way in MB. */
async function peakOf(chunks: number, chunkOf: (index: number) => Buffer[], limits: Limits): Promise<number> {
  const before = usedBytes();
  let peak = 0;
  async function* source(): AsyncGenerator<Buffer> {
    yield header;
    for (let index = 1; index <= chunks; index++) {
      yield Buffer.concat(chunkOf(index));
      if (index % Math.ceil(chunks / 20) === 0) peak = Math.max(peak, usedBytes() - before);
    }
  }
  const files = await writeTable(table, source(), {
    storage,
    attempt: { run: 1, attempt: 1 },
    limits,
    isStopped: () => false,
  });
  expect(files.length).toBeGreaterThan(0);
  return peak / 1024 / 1024;
}

const longRow = rowOf(1, 'y'.repeat(6000));
const fillers = Array.from({ length: Math.floor(chunkBytes / longRow.length) }, () => longRow);

test('rows of many small publishers do not keep the data in memory that was read together with them', async () => {
  // Two rows of a large publisher fill a row group, so only the rows of small publishers wait in memory.
  const limits = { ...defaultLimits, groupRows: 5, pendingBytes: 2 ** 20 };
  expect(await peakOf(2000, (index) => [rowOf(index + 1, ''), ...fillers], limits)).toBeLessThan(30);
});

test('long strings of many publishers are encoded before they fill the memory', async () => {
  const limits = { ...defaultLimits, pendingSize: 4 * 2 ** 20, pendingBytes: 2 ** 20 };
  expect(await peakOf(1000, (index) => [rowOf(index % 50, 'y'.repeat(60_000))], limits)).toBeLessThan(20);
});

test('many small row groups are stored before their metadata fills the memory', async () => {
  const limits = { ...defaultLimits, pendingRows: 500, pendingBytes: 4 * 2 ** 20 };
  const rows = (index: number): Buffer[] => Array.from({ length: 500 }, (_, row) => rowOf(row, String(index)));
  expect(await peakOf(100, rows, limits)).toBeLessThan(20);
});
