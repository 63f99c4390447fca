import type { Executor } from '../../../platform/db/pool.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { badge, table } from '../../shell/components.ts';
import type { PublisherContext } from '../../shell/context.ts';
import { count, moment } from '../../shell/format.ts';

/** What was ignored, dropped or refused of requests (docs/interface.md#notices). */
type LiveNotice = { path: string; message: string; refused: boolean; count: string; last_at: Date };

/** A publisher's notices since a time, newest first. */
export async function findNotices(executor: Executor, publisherId: number, sinceMs: number): Promise<LiveNotice[]> {
  const { rows } = await executor.query<LiveNotice>({
    name: 'live_notices',
    text: `select path, message, refused, count, last_at from request_notices
      where publisher_id = $1 and last_at >= $2 order by last_at desc, path, message`,
    values: [publisherId, new Date(sinceMs)],
  });
  return rows;
}

export const noticeTable = (notices: readonly LiveNotice[], { publisher }: PublisherContext): Html =>
  table(
    'Ignored, dropped or refused',
    [{ text: 'Field' }, { text: 'Reason' }, { text: 'Result' }, { text: 'Requests', numeric: true }, { text: 'Last' }],
    notices.map(({ path, message, refused, count: times, last_at: lastAt }) => [
      path === '' ? '–' : html`<code>${path.replace(/^\//, '')}</code>`,
      message,
      refused ? badge('refused', 'bad') : badge('accepted in part', 'warn'),
      count(Number(times)),
      moment(publisher, lastAt, 'second'),
    ]),
  );
