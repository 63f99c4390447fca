import { findWritableUrl } from '../platform/db/find-writable.ts';

/** The database of a command: that of DATABASE_URL, else the embedded one in DATA_DIR, which runs until `stop`. */
export async function openDatabase(
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<{ url: string; stop: () => Promise<unknown> }> {
  const url = env.DATABASE_URL ?? '';
  if (url !== '') return { url: await findWritableUrl(url), stop: async () => {} };
  const { startEmbeddedPostgres } = await import('./postgres.ts');
  return startEmbeddedPostgres({ dataDir: env.DATA_DIR || '.data' });
}
