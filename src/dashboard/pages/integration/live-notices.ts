import { hash } from 'node:crypto';
import type { Publisher } from '../../../catalog/snapshot/types.ts';
import type { Executor } from '../../../platform/db/pool.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { badge } from '../../shell/components.ts';
import { moment } from '../../shell/format.ts';

/** What was ignored, dropped or refused of requests (docs/interface.md#notices). */
type LiveNotice = { path: string; message: string; refused: boolean; count: string; last_at: Date };

/** A publisher's notices since a time, oldest first. */
export async function findNotices(executor: Executor, publisherId: number, sinceMs: number): Promise<LiveNotice[]> {
  const { rows } = await executor.query<LiveNotice>({
    name: 'live_notices',
    text: `select path, message, refused, count, last_at from request_notices
      where publisher_id = $1 and last_at >= $2 order by last_at, path, message`,
    values: [publisherId, new Date(sinceMs)],
  });
  return rows;
}

/** One item of the list of live requests; the same notice replaces it. */
export function noticeItem({ path, message, refused, count, last_at: lastAt }: LiveNotice, publisher: Publisher): Html {
  const name = path.replace(/^\//, '');
  return html`<li id="notice-${hash('sha256', `${path} ${message}`).slice(0, 16)}">
    ${moment(publisher, lastAt, 'second')}
    ${refused ? badge('refused', 'bad') : badge('accepted in part', 'warn')}
    ${name !== '' && html`<code>${name}</code>`}
    <span>${message}</span>
    ${Number(count) > 1 && html`<span>× ${Number(count)}</span>`}
  </li>`;
}
