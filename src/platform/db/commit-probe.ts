import { ReadOnlyError } from './find-writable.ts';
import { Connection } from './pool.ts';

/** Tests on a dedicated connection whether the database can commit. */
export type CommitProbe = {
  /**
   * Commits a transaction.
   * @param withSpace whether to also allocate a page of disk space, which fails if the disk is full
   * @returns the database server's time, in epoch milliseconds
   * @throws the error that prevented the commit
   */
  commit: (withSpace: boolean) => Promise<number>;
  /** Process ID of the PostgreSQL backend, which `endCommitProbe` takes. */
  backendPid: number;
  destroy: () => void;
};

const applicationName = 'perkwire-commit';

/** Writes only to the WAL, which PostgreSQL flushes and replicates as it does for any commit. No table is changed. */
const commitSql = `
select pg_logical_emit_message(true, 'perkwire', ''), current_setting('transaction_read_only')::boolean as read_only,
  extract(epoch from clock_timestamp())::float8 * 1000 as now_ms`;

/**
 * Statements sent in one query run in a single transaction. A freshly truncated table has no pages, so the insert must
 * allocate one.
 */
const allocateSpaceSql = 'truncate space_probe; insert into space_probe default values';

export async function openCommitProbe(url: string): Promise<CommitProbe> {
  const connection = new Connection({ server: url, application_name: applicationName, keepAlive: true });
  connection.on('error', () => {});
  try {
    await connection.connect();
    const { rows } = await connection.query<{ pid: number }>('select pg_backend_pid() as pid');
    return {
      backendPid: rows[0]?.pid ?? 0,
      commit: async (withSpace) => {
        if (withSpace) await connection.query(allocateSpaceSql);
        const { rows } = await connection.query<{ read_only: boolean; now_ms: number }>(commitSql);
        const [answer] = rows;
        if (answer === undefined || answer.read_only) throw new ReadOnlyError();
        return answer.now_ms;
      },
      destroy: () => connection.destroy(),
    };
  } catch (err) {
    connection.destroy();
    throw err;
  }
}

/**
 * Terminates the backend of a probe whose commit hangs. Otherwise, the backend would remain until a replica responds,
 * and each further attempt would add another one. No data is lost.
 */
export async function endCommitProbe(connection: Connection, backendPid: number): Promise<void> {
  await connection.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
    where pid = $1 and application_name = $2 and usename = current_user`,
    [backendPid, applicationName],
  );
}
