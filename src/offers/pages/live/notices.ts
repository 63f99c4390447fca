import type { PublisherContext } from '../../../catalog/pages.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { readProblem, wordProblem } from '../../../platform/problem.ts';
import { badge, table } from '../../../shell/components.ts';
import { count, moment } from '../../../shell/format.ts';
import type { Notice } from '../../request-log/store.ts';

/** Renders the table of ignored, dropped and refused request values (docs/reference/debugging.md#notices). */
export const noticeTable = (notices: readonly Notice[], { publisher }: PublisherContext): Html =>
  table(
    t('live.notices'),
    [
      { text: t('live.field') },
      { text: t('live.reason') },
      { text: t('live.result') },
      { text: t('live.requests'), numeric: true },
      { text: t('live.last') },
    ],
    notices.map(({ path, message, refused, count: times, lastAt }) => [
      path === '' ? '–' : html`<code>${path.replace(/^\//, '')}</code>`,
      wordProblem(readProblem(message)),
      refused ? badge(t('live.refused'), 'bad') : badge(t('live.partly'), 'warn'),
      count(times),
      moment(publisher, lastAt, 'second'),
    ]),
  );
