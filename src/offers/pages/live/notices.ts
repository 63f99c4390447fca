import type { PublisherContext } from '../../../catalog/pages.ts';
import type { Executor } from '../../../platform/db/pool.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { readProblem, wordProblem } from '../../../platform/problem.ts';
import { badge, table } from '../../../shell/components.ts';
import { count, moment } from '../../../shell/format.ts';

/** Ignored, dropped and rejected values of requests (docs/reference/debugging.md#notices). */
type LiveNotice = { path: string; message: string; refused: boolean; count: string; last_at: Date };

/** Returns a publisher's notices since a time, newest first. */
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
    t('live.notices'),
    [
      { text: t('live.field') },
      { text: t('live.reason') },
      { text: t('live.result') },
      { text: t('live.requests'), numeric: true },
      { text: t('live.last') },
    ],
    notices.map(({ path, message, refused, count: times, last_at: lastAt }) => [
      path === '' ? '–' : html`<code>${path.replace(/^\//, '')}</code>`,
      wordProblem(readProblem(message)),
      refused ? badge(t('live.refused'), 'bad') : badge(t('live.partly'), 'warn'),
      count(Number(times)),
      moment(publisher, lastAt, 'second'),
    ]),
  );
