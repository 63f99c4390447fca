import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from './pool.ts';
import { createServers } from './servers.ts';
import { isAboutTls, rememberTls, type Tls, tlsAttempts } from './tls.ts';

/** A connection to the writable server. Of two timelines, the later one is the greater text. */
export type WritableServer = { url: string; connection: Connection; timeline: string };

/** Timeout for a server to accept a connection and report its role (milliseconds). */
const answerTimeoutMs = 1_000;
/** How long to wait for further servers after a writable one was found (milliseconds). */
const othersTimeoutMs = 100;
/**
 * Interval at which servers are asked again while another one does not respond, because one may be promoted
 * (milliseconds).
 */
const againMs = 200;

/** The timeline is the first 8 hex digits of a WAL file's name. Each promotion starts a new one. */
const roleSql = `
select pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as read_only,
  case when pg_is_in_recovery() then '' else left(pg_walfile_name(pg_current_wal_lsn()), 8) end as timeline`;

export class ReadOnlyError extends Error {
  /** SQLSTATE read_only_sql_transaction. */
  readonly code = '25006';
  constructor() {
    super('the server is read-only');
  }
}

/**
 * Connects to the writable server of the list. If several claim to be writable, as an isolated primary does until it
 * notices, it takes the one on the latest timeline. The caller ends the connection.
 * @throws the servers' errors; ReadOnlyError if one of them is read-only
 */
export async function findWritable(
  { all }: { all: readonly string[] },
  applicationName: string,
): Promise<WritableServer> {
  const candidates: WritableServer[] = [];
  /** Last error of each server, by its index. */
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
  const connecting = all.map(askUntilFound);
  const answered = Promise.all(connecting);
  await Promise.any([
    answered,
    firstOf(connecting, candidates).then(() => sleep(othersTimeoutMs, undefined, { ref: false })),
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

/** Returns the URL of the writable server, for a program that connects at once and then ends. */
export async function findWritableUrl(databaseUrl: string): Promise<string> {
  const { url, connection } = await findWritable(createServers(databaseUrl), 'perkwire-start');
  connection.destroy();
  return url;
}

/** Resolves when one of the promises has added a candidate; rejects if none does. */
const firstOf = (connecting: readonly Promise<unknown>[], candidates: readonly unknown[]): Promise<void> =>
  Promise.any(
    connecting.map(async (connected) => {
      await connected;
      if (candidates.length === 0) throw new Error('none yet');
    }),
  );

/** Connects in the first way that the server accepts (`sslmode`). Further connections then use the same way. */
async function ask(url: string, applicationName: string): Promise<WritableServer> {
  const [first, ...others] = tlsAttempts(url);
  let attempt = askBy(url, applicationName, first);
  for (const tls of others)
    attempt = attempt.catch((err) => {
      if (isAboutTls(err)) return askBy(url, applicationName, tls);
      throw err;
    });
  return attempt;
}

async function askBy(url: string, applicationName: string, tls: Tls): Promise<WritableServer> {
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
