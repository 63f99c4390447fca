import { createHash } from 'node:crypto';
import { dayMs, dayOf } from '../../platform/lib/time.ts';
import { type Attempt, type DataFile, nameOfRunFile } from '../manifest.ts';
import type { Storage } from '../storage.ts';
import { type DataTable, schemaVersion } from '../tables.ts';
import { PartitionFile } from './partition-file.ts';
import { readCopy } from './read-copy.ts';

/** Limits on the memory that an export uses. */
export type Limits = {
  /** Rows per row group. */
  groupRows: number;
  /** Size at which a file is stored and the next one begins, in bytes. */
  fileBytes: number;
  /** Rows of all partitions together that may wait to be encoded. */
  pendingRows: number;
  /** Size of these rows, in bytes. */
  pendingSize: number;
  /** Memory of the row groups of all partitions together that may wait to be stored, in bytes. */
  pendingBytes: number;
};

export const defaultLimits: Limits = {
  groupRows: 50_000,
  fileBytes: 32 * 1024 * 1024,
  pendingRows: 200_000,
  pendingSize: 64 * 1024 * 1024,
  pendingBytes: 96 * 1024 * 1024,
};

/** Upper limit for publisher IDs, which are 32-bit integers. */
const maxPublisherId = 2 ** 31;

/** Maximum number of files that are stored at the same time. */
const maxUploads = 4;

type WriteOptions = { storage: Storage; attempt: Attempt; limits: Limits; isStopped: () => boolean };

/** Error when an export is stopped because its process ends. */
class StoppedError extends Error {
  override readonly name = 'StoppedError';
}

/**
 * Writes the rows of a table to files, one or more for each partition.
 * @param source binary copy of the rows
 */
export async function writeTable(
  table: DataTable,
  source: AsyncIterable<Buffer>,
  { storage, attempt, limits, isStopped }: WriteOptions,
): Promise<DataFile[]> {
  const partitions = new Map<number, Partition>();
  const files: DataFile[] = [];
  const uploads = new Set<Promise<void>>();
  /** Partitions that have enough rows for a row group. */
  const full = new Set<Partition>();
  let [pendingRows, pendingSize, pendingBytes] = [0, 0, 0];

  function encode(partition: Partition): void {
    const before = partition.file.groupBytes;
    pendingRows -= partition.file.pendingRows;
    pendingSize -= partition.file.pendingSize;
    partition.file.encode();
    pendingBytes += partition.file.groupBytes - before;
  }

  async function store(partition: Partition): Promise<void> {
    encode(partition);
    const { rows, testRows, groupBytes } = partition.file;
    if (rows === 0) return;
    pendingBytes -= groupBytes;
    const bytes = partition.file.finish();
    partition.part += 1;
    partition.file = new PartitionFile(table, schemaVersion);
    const { date, publisherId, part } = partition;
    const path = pathOf(table.name, { date, publisherId }, nameOfRunFile(attempt, part));
    const upload = storage.put(path, bytes).then(() => {
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      const sizes = { rows, test_rows: testRows, bytes: bytes.length, sha256 };
      files.push({ path, table: table.name, date, publisher_id: publisherId, ...sizes });
    });
    uploads.add(upload);
    upload.then(
      () => uploads.delete(upload),
      () => {},
    );
    if (uploads.size >= maxUploads) await Promise.race(uploads);
  }

  function largest(): Partition {
    const all = [...partitions.values()];
    return all.reduce((most, partition) => (partition.file.groupBytes > most.file.groupBytes ? partition : most));
  }

  /** Encodes the largest partitions first until half of a limit is free, so that this is rare and groups are large. */
  function encodeLargest(): void {
    const all = [...partitions.values()].sort((a, b) => b.file.pendingSize - a.file.pendingSize);
    for (const partition of all) {
      if (pendingRows <= limits.pendingRows / 2 && pendingSize <= limits.pendingSize / 2) return;
      encode(partition);
    }
  }

  await readCopy(
    source,
    table,
    ({ publisherId, day, isTest, rows, size }) => {
      const key = day * maxPublisherId + publisherId;
      let partition = partitions.get(key);
      if (partition === undefined) {
        const file = new PartitionFile(table, schemaVersion);
        partition = { file, date: dayOf(day * dayMs), publisherId, part: 0 };
        partitions.set(key, partition);
      }
      const { file } = partition;
      if (file.pendingRows >= limits.groupRows) full.add(partition);
      file.rows += rows;
      if (isTest) file.testRows += rows;
      file.pendingSize += size;
      pendingRows += rows;
      pendingSize += size;
      return file.columns;
    },
    async () => {
      if (isStopped()) throw new StoppedError('the export was stopped');
      if (pendingRows > limits.pendingRows || pendingSize > limits.pendingSize) encodeLargest();
      for (const partition of full) {
        encode(partition);
        if (partition.file.encodedBytes >= limits.fileBytes) await store(partition);
      }
      full.clear();
      while (pendingBytes > limits.pendingBytes) await store(largest());
    },
  )
    .then(async () => {
      for (const partition of partitions.values()) await store(partition);
      await Promise.all(uploads);
    })
    // An upload that ended later would add a file after the next attempt has removed those of this one.
    .finally(() => Promise.allSettled(uploads));
  return files.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Path of a file in the Hive layout. */
export const pathOf = (
  table: string,
  { date, publisherId }: { date: string; publisherId: number },
  name: string,
): string => `${table}/date=${date}/publisher=${publisherId}/${name}.parquet`;

type Partition = { file: PartitionFile; date: string; publisherId: number; part: number };
