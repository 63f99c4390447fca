import type { Storage } from './storage.ts';
import type { Transactions } from './tables.ts';

/** File that a manifest lists. */
export type DataFile = {
  path: string;
  table: string;
  date: string;
  publisher_id: number;
  rows: number;
  /** Rows of test traffic, which the database keeps for only a day. */
  test_rows: number;
  bytes: number;
  sha256: string;
};

/** Manifest of a run or of a compaction. A file is part of the data once a manifest lists it. */
export type Manifest = {
  schema_version: number;
  written_at: string;
  files: DataFile[];
  /** Paths of files that this manifest replaces. Only compactions replace files. */
  replaces: string[];
  /** Run whose rows the files contain; absent in manifests of compactions. */
  run?: number;
  planned_at?: string;
  transactions?: Transactions;
  /** Number of rows by table. */
  rows: Record<string, number>;
};

const folder = '_manifests/';

/** Name of the manifest of a run, such as `_manifests/run-00000012.json`. */
export const manifestOfRun = (run: number): string => `${folder}run-${String(run).padStart(8, '0')}.json`;

/** Name of the manifest of a compaction. */
export const manifestOfCompaction = (id: string): string => `${folder}compact-${id}.json`;

export const writeManifest = (storage: Storage, name: string, manifest: Manifest): Promise<void> =>
  storage.put(name, Buffer.from(`${JSON.stringify(manifest, null, 1)}\n`));

/** Reads a manifest, or returns null if it has not been written. */
export async function readManifest(storage: Storage, name: string): Promise<Manifest | null> {
  const bytes = await storage.get(name);
  return bytes === null ? null : (JSON.parse(bytes.toString()) as Manifest);
}

/** Files that are part of the data, and files that a compaction replaced. */
export type Files = { current: DataFile[]; replaced: Set<string>; lastRun: number };

/** Number of manifests that are read at the same time. A year of hourly runs has 8,760. */
const maxReads = 16;

/** Reads all manifests. */
export async function readFiles(storage: Storage): Promise<Files> {
  const names = (await storage.list(folder)).entries();
  const manifests: (Manifest | null)[] = [];
  const readNext = async (): Promise<void> => {
    for (const [index, name] of names) manifests[index] = await readManifest(storage, name);
  };
  await Promise.all(Array.from({ length: maxReads }, readNext));
  const stored = manifests.filter((manifest) => manifest !== null);
  const files = stored.flatMap((manifest) => manifest.files);
  const replaced = new Set(stored.flatMap(({ replaces }) => replaces));
  const lastRun = stored.reduce((last, { run = 0 }) => Math.max(last, run), 0);
  return { current: files.filter(({ path }) => !replaced.has(path)), replaced, lastRun };
}

export const sumRows = (files: readonly DataFile[]): Record<string, number> => {
  const rows: Record<string, number> = {};
  for (const file of files) rows[file.table] = (rows[file.table] ?? 0) + file.rows;
  return rows;
};

/** Attempt to export a run. File names contain its number, so that no other attempt overwrites its files. */
export type Attempt = { run: number; attempt: number };

/** Name of a file of a run, without its folder and extension. */
export const nameOfRunFile = ({ run, attempt }: Attempt, part: number): string =>
  `run-${String(run).padStart(8, '0')}-${attempt}-${part}`;

const dataFile = /^[a-z_]+\/date=[\d-]{10}\/publisher=\d+\/(?:run-(\d+)-\d+-\d+|compact-[\da-f-]{36}-\d+)\.parquet$/;

/**
 * Lists the data files in the storage, with the run that wrote them. The run of a compaction's file is null. Other
 * files are not listed.
 */
export async function listStored(
  storage: Storage,
  tables: readonly { name: string }[],
): Promise<{ path: string; run: number | null }[]> {
  const stored: { path: string; run: number | null }[] = [];
  for (const { name } of tables)
    for (const path of await storage.list(`${name}/`)) {
      const match = dataFile.exec(path);
      if (match !== null) stored.push({ path, run: match[1] === undefined ? null : Number(match[1]) });
    }
  return stored;
}
