import { createHash, randomUUID } from 'node:crypto';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { dayOf } from '../platform/lib/time.ts';
import { firstUuid7After } from '../platform/lib/uuid7.ts';
import type { Value } from './export/columns.ts';
import { PartitionFile } from './export/partition-file.ts';
import { defaultLimits, type Limits, pathOf } from './export/write-table.ts';
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
  /** Rejects if the lock of the export is lost. */
  checkLock: () => Promise<unknown>;
  /** Publishers whose plain user IDs are removed from all files. */
  withdrawnPublishers: ReadonlySet<number>;
  limits?: Limits;
};

/**
 * Erased sessions by ID, and erased users by user key or by publisher and plain ID: sessions with a lower ID began
 * before the user's erasure.
 */
type Erased = { sessions: Set<string>; users: Map<string, string> };

const plainKey = (publisherId: number, userId: unknown): string => `${publisherId} ${String(userId)}`;

/** Columns that contain user data, by table, and the column by which rows of erased users are found. */
const userColumns: Readonly<Record<string, readonly string[]>> = {
  sessions: ['user_key', 'user_id', 'attributes', 'language'],
  messages: ['user_key'],
  erasures: ['user_key', 'user_id'],
};

/**
 * Number of replaced files after which a manifest is written. With a manifest for each partition, there would soon be
 * too many manifests to read.
 */
const maxReplaced = 1000;

/** User key of erased messages. */
const noUser = '00000000-0000-0000-0000-000000000000';

/**
 * Rewrites partitions that have several small files or rows of erased users. New files are written first, then a
 * manifest that replaces the previous files, and only then are those removed. A compaction that is killed can be
 * repeated. Only one input file and one output file are in memory at a time, regardless of the partition's size. The
 * caller must hold the lock of the export. It is checked again before each manifest and each removal.
 */
export async function compactDataFiles(
  storage: Storage,
  { before, checkLock, withdrawnPublishers, limits = defaultLimits }: CompactOptions,
  onPartition: (path: string) => void = () => {},
): Promise<Compaction> {
  const result: Compaction = { partitions: 0, before: 0, after: 0, erased: 0, removed: 0 };
  const { current } = await readFiles(storage);
  const erased = await readErased(storage, current);
  const isTombstone = ([folder]: [string, unknown]): number => Number(folder.startsWith('erasures/'));
  const partitions = [...groupByPartition(current)].sort((a, b) => isTombstone(a) - isTombstone(b));
  const rewritten = new Set<string>();
  let id = randomUUID();
  let newFiles: DataFile[] = [];
  let replaces: string[] = [];
  const finish = async (): Promise<void> => {
    if (replaces.length === 0) return;
    await checkLock();
    await writeManifest(storage, manifestOfCompaction(id), {
      schema_version: schemaVersion,
      written_at: new Date().toISOString(),
      rows: sumRows(newFiles),
      files: newFiles,
      replaces,
    });
    result.before += replaces.length;
    result.after += newFiles.length;
    [id, newFiles, replaces] = [randomUUID(), [], []];
  };
  for (const [folder, files] of partitions.flatMap((partition) => mergeable(partition, limits.fileBytes))) {
    const [{ table: name, date, publisher_id: publisherId }] = files as [DataFile];
    const table = dataTables.find((entry) => entry.name === name);
    if (table === undefined || date >= before) continue;
    // Tombstones come last: they lose their user once all rows of the user are rewritten.
    if (name === 'erasures' || replaces.length >= maxReplaced) await finish();
    const isErasing = userColumns[name] !== undefined && erased.sessions.size + erased.users.size > 0;
    const isWithdrawn = name === 'sessions' && withdrawnPublishers.has(publisherId);
    if (files.length === 1 && !isErasing && !isWithdrawn) continue;
    onPartition(folder);
    const store = async ({ bytes, rows, testRows }: Part): Promise<void> => {
      const path = pathOf(name, { date, publisherId }, `compact-${id}-${newFiles.length + 1}`);
      await storage.put(path, bytes);
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      const sizes = { rows, test_rows: testRows, bytes: bytes.length, sha256 };
      newFiles.push({ path, table: name, date, publisher_id: publisherId, ...sizes });
    };
    // A single file is replaced only if a row of it changes, which is known at its end.
    const unstored: Part[] = [];
    const onPart = files.length > 1 ? store : async (part: Part): Promise<void> => void unstored.push(part);
    const options = { table, erased, before, publisherId, isWithdrawn, limits };
    const erasedRows = await rewrite(storage, files, options, onPart);
    if (files.length === 1 && erasedRows === 0) continue;
    for (const stored of unstored) await store(stored);
    replaces.push(...files.map(({ path }) => path));
    rewritten.add(folder);
    result.erased += erasedRows;
  }
  await finish();
  result.partitions = rewritten.size;
  result.removed = await removeUnnamed(storage, checkLock);
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

/**
 * Splits the files of a partition into those that are merged, and large ones that stay as they are. Without this, each
 * compaction would rewrite all large partitions.
 */
function mergeable([folder, files]: [string, DataFile[]], fileBytes: number): [string, DataFile[]][] {
  const isLarge = ({ bytes }: DataFile): boolean => bytes >= fileBytes / 2;
  const small = files.filter((file) => !isLarge(file));
  const alone = files.filter(isLarge).map((file): [string, DataFile[]] => [folder, [file]]);
  return small.length === 0 ? alone : [[folder, small], ...alone];
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
  const erased: Erased = { sessions: new Set(), users: new Map() };
  for (const file of files) {
    if (file.table !== 'erasures') continue;
    for await (const rows of readRows(storage, file)) {
      for (const { session_id: session, user_key: user, user_id: userId, erased_at: erasedAt } of rows) {
        if (session != null) erased.sessions.add(String(session));
        const end = firstUuid7After(new Date(msOf(erasedAt)));
        const keys = [
          ...(user == null ? [] : [String(user)]),
          ...(userId == null ? [] : [plainKey(file.publisher_id, userId)]),
        ];
        for (const key of keys) if (end > (erased.users.get(key) ?? '')) erased.users.set(key, end);
      }
    }
  }
  return erased;
}

const msOf = (micros: unknown): number => Number((micros as bigint) / 1000n);

type Part = { bytes: Buffer; rows: number; testRows: number };

type RewriteOptions = {
  table: DataTable;
  erased: Erased;
  before: string;
  publisherId: number;
  isWithdrawn: boolean;
  limits: Limits;
};

/**
 * Reads files of a partition, removes erased users from their rows, and encodes the rows again.
 * @param onPart called for each new file
 * @returns the number of rows from which a user was removed
 */
async function rewrite(
  storage: Storage,
  files: readonly DataFile[],
  options: RewriteOptions,
  onPart: (part: Part) => Promise<void>,
): Promise<number> {
  const { table, isWithdrawn, limits } = options;
  const entries = Object.entries(table.columns);
  let erasedRows = 0;
  let part = new PartitionFile(table, schemaVersion);
  const finish = async (): Promise<void> => {
    const { rows, testRows } = part;
    if (rows > 0) await onPart({ bytes: part.finish(), rows, testRows });
    part = new PartitionFile(table, schemaVersion);
  };
  for (const file of files) {
    for await (const rows of readRows(storage, file)) {
      for (const row of rows) {
        const isChanged = isErased(row, options) ? eraseUser(table.name, row) : isWithdrawn && row.user_id != null;
        if (isChanged) erasedRows += 1;
        if (isWithdrawn) row.user_id = null;
        for (const [index, [name, entry]] of entries.entries())
          part.columns[index]?.push(toValue(typeOf(entry).type, row[name]));
        part.rows += 1;
        if (row.dev === true && table.isTest !== undefined) part.testRows += 1;
      }
      if (part.pendingRows >= limits.groupRows) part.encode();
      if (part.encodedBytes >= limits.fileBytes) await finish();
    }
  }
  await finish();
  return erasedRows;
}

/** Whether a row must lose its user. A tombstone still needs it for partitions that are left alone. */
function isErased(
  row: FileRow,
  { table, erased, before, publisherId }: { table: DataTable; erased: Erased; before: string; publisherId: number },
): boolean {
  if (userColumns[table.name] === undefined) return false;
  if (table.name === 'erasures') return dayOf(msOf(row.erased_at)) < before;
  const session = String(row.session_id);
  const isBefore = (key: string): boolean => session < (erased.users.get(key) ?? '');
  return (
    erased.sessions.has(session) || isBefore(String(row.user_key)) || isBefore(plainKey(publisherId, row.user_id ?? ''))
  );
}

/** Removes the user from a row. Returns whether the row changed. */
function eraseUser(table: string, row: FileRow): boolean {
  const names = userColumns[table] ?? [];
  const replacement = table === 'messages' ? noUser : null;
  const changes = names.some((name) => (row[name] ?? null) !== replacement);
  for (const name of names) row[name] = replacement;
  return changes;
}

const toValue = (type: string, value: unknown): Value =>
  value === undefined || value === null ? null : type === 'micros' ? BigInt(value as bigint) : (value as Value);

/**
 * Removes files that no manifest names, that were replaced, or that a killed write left unfinished. Leaves foreign
 * files, and those of a run without a manifest: the next attempt to export the run removes them.
 */
async function removeUnnamed(storage: Storage, checkLock: () => Promise<unknown>): Promise<number> {
  const { current, lastRun } = await readFiles(storage);
  const inManifests = new Set(current.map(({ path }) => path));
  const stored = await listStored(storage, dataTables);
  const paths = stored
    .filter(({ path, run }) => !inManifests.has(path) && (run ?? 0) <= lastRun)
    .map(({ path }) => path);
  for (const folder of ['_manifests', ...dataTables.map(({ name }) => name)])
    paths.push(...(await storage.listUnfinished(`${folder}/`)));
  for (const path of paths) {
    await checkLock();
    await storage.remove(path);
  }
  return paths.length;
}
