import { createHash, randomUUID } from 'node:crypto';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { PartitionFile, type Value } from './export/partition-file.ts';
import { defaultLimits, pathOf } from './export/write-table.ts';
import { type DataFile, listStored, manifestOfCompaction, readFiles, sumRows, writeManifest } from './manifest.ts';
import type { Storage } from './storage.ts';
import { type DataTable, dataTables, schemaVersion, typeOf } from './tables.ts';

export type Compaction = {
  /** Number of partitions that were rewritten. */
  partitions: number;
  /** Number of files in these partitions before and after the compaction. */
  before: number;
  after: number;
  /** Number of rows from which an erased user was removed. */
  erased: number;
  /** Number of removed files: those that were replaced, and those that no manifest lists. */
  removed: number;
};

type CompactOptions = {
  /** First day whose partitions are not compacted, because runs still add files to them. */
  before: string;
  /** Run that is still being exported, or null. Its files are not touched. */
  openRun: number | null;
};

/** IDs of erased sessions. */
type Erased = ReadonlySet<string>;

/** Columns that contain user data, by table, and the column by which rows of erased users are found. */
const userColumns: Readonly<Record<string, readonly string[]>> = {
  sessions: ['user_key', 'attributes'],
  messages: ['user_key'],
};

/** User key of erased messages. */
const noUser = '00000000-0000-0000-0000-000000000000';

/**
 * Rewrites partitions that have several files or contain rows of erased users. It writes the new files, then a manifest
 * that replaces the previous files, and finally removes the previous files, so a compaction that is killed can be
 * repeated. The caller must hold the export lock.
 */
export async function compactDataFiles(
  storage: Storage,
  { before, openRun }: CompactOptions,
  onPartition: (path: string) => void = () => {},
): Promise<Compaction> {
  const result: Compaction = { partitions: 0, before: 0, after: 0, erased: 0, removed: 0 };
  const { current } = await readFiles(storage);
  const erased = await readErased(storage, current);
  for (const [folder, files] of groupByPartition(current)) {
    const [{ table: name, date, publisher_id: publisherId }] = files as [DataFile];
    const table = dataTables.find((entry) => entry.name === name);
    if (table === undefined || date >= before) continue;
    const hasUsers = userColumns[name] !== undefined;
    if (files.length === 1 && !(hasUsers && erased.size > 0)) continue;
    const rewritten = await rewrite(storage, table, files, erased);
    if (files.length === 1 && rewritten.erased === 0) continue;
    onPartition(folder);
    const id = randomUUID();
    const newFiles: DataFile[] = [];
    for (const [index, part] of rewritten.parts.entries()) {
      const path = pathOf(name, { date, publisherId }, `compact-${id}-${index + 1}`);
      await storage.put(path, part.bytes);
      const sha256 = createHash('sha256').update(part.bytes).digest('hex');
      const sizes = { rows: part.rows, test_rows: part.testRows, bytes: part.bytes.length, sha256 };
      newFiles.push({ path, table: name, date, publisher_id: publisherId, ...sizes });
    }
    await writeManifest(storage, manifestOfCompaction(id), {
      schema_version: schemaVersion,
      written_at: new Date().toISOString(),
      rows: sumRows(newFiles),
      files: newFiles,
      replaces: files.map(({ path }) => path),
    });
    result.partitions += 1;
    result.before += files.length;
    result.after += newFiles.length;
    result.erased += rewritten.erased;
  }
  result.removed = await removeUnnamed(storage, openRun);
  return result;
}

function groupByPartition(files: readonly DataFile[]): Map<string, DataFile[]> {
  const groups = new Map<string, DataFile[]>();
  for (const file of files) {
    const folder = file.path.slice(0, file.path.lastIndexOf('/') + 1);
    const group = groups.get(folder);
    if (group === undefined) groups.set(folder, [file]);
    else group.push(file);
  }
  return groups;
}

type FileRow = Record<string, unknown>;

/** Reads the rows of a file, a row group at a time. */
async function* readRows(storage: Storage, { path }: DataFile): AsyncGenerator<FileRow[]> {
  const bytes = await storage.get(path);
  if (bytes === null) throw new Error(`the file ${path} is missing: run "perkwire data verify"`);
  const { buffer, byteOffset, byteLength } = bytes;
  const file = buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer;
  const metadata = parquetMetadata(file);
  let rowStart = 0;
  for (const group of metadata.row_groups) {
    const rowEnd = rowStart + Number(group.num_rows);
    yield await parquetReadObjects({ file, metadata, rowStart, rowEnd, parsers: keepMicros });
    rowStart = rowEnd;
  }
}

/** Parsers that keep times as they are stored. The library's dates would lose the microseconds. */
const keepMicros = { timestampFromMicroseconds: (micros: bigint): unknown => micros };

/** Reads all tombstones. */
async function readErased(storage: Storage, files: readonly DataFile[]): Promise<Erased> {
  const sessions = new Set<string>();
  for (const file of files) {
    if (file.table !== 'erasures') continue;
    for await (const rows of readRows(storage, file))
      for (const { session_id } of rows) sessions.add(String(session_id));
  }
  return sessions;
}

type Part = { bytes: Buffer; rows: number; testRows: number };

/** Reads files of a partition, removes erased users from their rows, and encodes the rows again. */
async function rewrite(
  storage: Storage,
  table: DataTable,
  files: readonly DataFile[],
  erased: Erased,
): Promise<{ parts: Part[]; erased: number }> {
  const entries = Object.entries(table.columns);
  const parts: Part[] = [];
  let erasedRows = 0;
  let part = new PartitionFile(table, schemaVersion);
  const finish = (): void => {
    const { rows, testRows } = part;
    if (rows > 0) parts.push({ bytes: part.finish(), rows, testRows });
    part = new PartitionFile(table, schemaVersion);
  };
  for (const file of files) {
    for await (const rows of readRows(storage, file)) {
      for (const row of rows) {
        if (eraseUser(table.name, row, erased)) erasedRows += 1;
        for (const [index, [name, entry]] of entries.entries())
          part.columns[index]?.push(toValue(typeOf(entry).type, row[name]));
        part.rows += 1;
        if (row.dev === true && table.isTest !== undefined) part.testRows += 1;
      }
      if (part.pendingRows >= defaultLimits.groupRows) part.encode();
      if (part.encodedBytes >= defaultLimits.fileBytes) finish();
    }
  }
  finish();
  return { parts, erased: erasedRows };
}

/** Removes the user from a row if the user's data was erased. Returns whether the row changed. */
function eraseUser(table: string, row: FileRow, erased: Erased): boolean {
  const names = userColumns[table];
  if (names === undefined || !erased.has(String(row.session_id))) return false;
  const replacement = table === 'messages' ? noUser : null;
  const changes = names.some((name) => (row[name] ?? null) !== replacement);
  for (const name of names) row[name] = replacement;
  return changes;
}

const toValue = (type: string, value: unknown): Value =>
  value === undefined || value === null ? null : type === 'micros' ? BigInt(value as bigint) : (value as Value);

/** Removes replaced files and files that no manifest lists. Keeps the files of an open run, and unrelated files. */
async function removeUnnamed(storage: Storage, openRun: number | null): Promise<number> {
  const current = new Set((await readFiles(storage)).current.map(({ path }) => path));
  let removed = 0;
  for (const { path, run } of await listStored(storage, dataTables)) {
    if (current.has(path) || (run !== null && run === openRun)) continue;
    await storage.remove(path);
    removed += 1;
  }
  return removed;
}
