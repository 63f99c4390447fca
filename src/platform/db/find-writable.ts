import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from './pool.ts';
import { createServers } from './servers.ts';
import { isAboutTls, rememberTls, type Tls, tlsAttempts } from './tls.ts';

/** A connection to the server that can be written to. The later of two timelines is the greater text. */
export type Found = { url: string; connection: Connection; timeline: string };

/** How long a server may take to accept a connection and to say what it is (milliseconds). */
const answerTimeoutMs = 1_000;
/** How long further servers are waited for once one is found to be writable (milliseconds). */
const othersTimeoutMs = 100;
/** While a server is silent, how often those that answered are asked again: one may be promoted (milliseconds). */
const againMs = 200;

/** Timelines are the first 8 hex digits of a WAL file's name; each promotion begins a new one. */
const roleSql = `
select pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as read_only,
  case when pg_is_in_recovery() then '' else left(pg_walfile_name(pg_current_wal_lsn()), 8) end as timeline`;

export class ReadOnlyError extends Error {
  /** SQLSTATE read_only_sql_transaction. */
  readonly code = '25006';
  constructor() {
    super('the server is read-only: a standby, or set so');
  }
}

/**
 * Connects to the server of the list that can be written to. Of several that say so (a primary that was cut off does,
 * until it knows), the one on the latest timeline. The caller ends the connection.
 * @throws what the servers answered, ReadOnlyError where one answered that it cannot be written to
 */
export async function findWritable({ all }: { all: readonly string[] }, applicationName: string): Promise<Found> {
  const candidates: Found[] = [];
  /** By the number of the server; what it answered last. */
  const errors = new Map<number, Error>();
  const isOneSilent = (): boolean => candidates.length === 0 && errors.size < all.length;
  const askUntilFound = async (url: string, index: number): Promise<void> => {
    do {
      try {
        return void candidates.push(await ask(url, applicationName));
      } catch (err) {
        errors.set(index, err as Error);
      }
      if (isOneSilent()) await sleep(againMs);
    } while (isOneSilent());
  };
  const asked = all.map(askUntilFound);
  const answered = Promise.all(asked);
  await Promise.any([
    answered,
    firstOf(asked, candidates).then(() => sleep(othersTimeoutMs, undefined, { ref: false })),
  ]);
  const [best, ...others] = candidates.sort((a, b) => b.timeline.localeCompare(a.timeline));
  for (const { connection } of others) connection.destroy();
  void answered.then(() => {
    for (const { connection } of candidates) if (connection !== best?.connection) connection.destroy();
  });
  if (best === undefined) {
    const answers = [...errors.values()];
    throw answers.find((err) => err instanceof ReadOnlyError) ?? answers[0];
  }
  return best;
}

/** The URL of the server that can be written to, for a program that makes its connections at once and then ends. */
export async function findWritableUrl(databaseUrl: string): Promise<string> {
  const { url, connection } = await findWritable(createServers(databaseUrl), 'perkwire-start');
  connection.destroy();
  return url;
}

/** Resolves when one of the promises has made a candidate; rejects when none does. */
const firstOf = (asked: readonly Promise<unknown>[], candidates: readonly unknown[]): Promise<void> =>
  Promise.any(
    asked.map(async (one) => {
      await one;
      if (candidates.length === 0) throw new Error('none yet');
    }),
  );

/** Connects in the first way that the server takes (`sslmode`), which further connections then take too. */
async function ask(url: string, applicationName: string): Promise<Found> {
  const [first, ...others] = tlsAttempts(url);
  let attempt = askBy(url, applicationName, first);
  for (const tls of others)
    attempt = attempt.catch((err) => {
      if (isAboutTls(err)) return askBy(url, applicationName, tls);
      throw err;
    });
  return attempt;
}

async function askBy(url: string, applicationName: string, tls: Tls): Promise<Found> {
  const connection = new Connection({ server: url, application_name: applicationName, keepAlive: true, tls });
  connection.on('error', () => {});
  const timer = setTimeout(() => connection.destroy(new Error('timeout: no answer')), answerTimeoutMs);
  try {
    await connection.connect();
    rememberTls(url, tls);
    const { rows } = await connection.query<{ read_only: boolean; timeline: string }>(roleSql);
    const [role] = rows;
    if (role === undefined || role.read_only) throw new ReadOnlyError();
    return { url, connection, timeline: role.timeline };
  } catch (err) {
    connection.destroy();
    throw err;
  } finally {
    clearTimeout(timer);
  }
}
