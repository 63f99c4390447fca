import { type Html, html } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { reader } from '../../platform/i18n/reader.ts';
import type { Mail } from '../../platform/mailer.ts';
import type { ChatMessage } from '../chat-channels.ts';
import type { ReportAnswer } from '../pages/explorer/answer.ts';
import { formatted } from '../pages/explorer/charts.ts';
import { toReportCsv } from '../pages/explorer/csv.ts';
import { type FormatMoney, headingOf, metricOf } from '../pages/explorer/metrics.ts';
import { dimensionText, type Names } from '../pages/explorer/names.ts';
import { rangeText } from '../pages/explorer/periods.ts';
import type { ExplorerState } from '../pages/explorer/state.ts';

/** Report with its result, the URL of the report page and the URL to unsubscribe. */
export type Sent = {
  publisher: string;
  name: string;
  state: ExplorerState;
  answer: ReportAnswer;
  names: Names;
  /** Currency of all amounts, or null if there are several. */
  currency: string | null;
  money: FormatMoney;
  /** Text for the total in the reporting currency. Empty if there is no such total. */
  converted: string;
  page: string;
  stop: string;
};

/** Maximum number of rows in an e-mail. The attached file contains all rows. */
const maxRows = 25;
/** Maximum size of an attachment, in bytes. Larger reports can be downloaded only on the report page. */
const maxFileBytes = 1_000_000;

const cell = 'padding:4px 12px 4px 0;border-bottom:1px solid #ddd;text-align:';

/** Builds the e-mail for a report: a table in HTML and in plain text, with all rows attached as CSV. */
export function mailOf(sent: Sent): Omit<Mail, 'to'> {
  const { publisher, name, state, answer, names, currency, page, stop } = sent;
  const title = `${publisher}: ${name}`;
  const days = rangeText(answer.periods.days);
  const { head, rows } = tableOf(sent);
  const csv = toReportCsv(state, answer, { names, currency });
  const { from, to } = answer.periods.days;
  const isAttached = Buffer.byteLength(csv) <= maxFileBytes;
  const hiddenCount = answer.rows.length - maxRows;
  const more = hiddenCount > 0 ? t('reports.moreRows', { count: hiddenCount }) : '';
  return {
    subject: title,
    text: t('mails.reportText', {
      title,
      days,
      page,
      stop,
      totals: totalsText(sent),
      more,
      rows: [head, ...rows].map((cells) => cells.join(' | ')).join('\n'),
    }),
    html: htmlOf({ title, days, head, rows, more, page, stop, converted: sent.converted }).markup,
    attachments: isAttached
      ? [{ filename: `report-${from}-${to}.csv`, content: csv, contentType: 'text/csv; charset=utf-8' }]
      : [],
  };
}

const totalsOf = ({ state, answer, money }: Sent): [text: string, value: string][] =>
  state.metrics.map((metric) => [metricOf(metric).text, formatted(metricOf(metric), answer.total.now, 'time', money)]);

const totalsText = (sent: Sent): string =>
  [
    ...totalsOf(sent).map(([text, value]) => `${text}: ${value}`),
    ...(sent.converted === '' ? [] : [sent.converted]),
  ].join('\n');

function tableOf(sent: Sent): { head: string[]; rows: string[][] } {
  const { state, answer, money, currency } = sent;
  const names = [state.by, ...state.also].map(dimensionText);
  const empty = state.also.map(() => '');
  return {
    head: [...names, ...state.metrics.map((metric) => headingOf(metricOf(metric), currency))],
    rows: [
      ...answer.rows
        .slice(0, maxRows)
        .map(({ text, also, now }) => [
          ...[text, ...also.map((part) => part.text)],
          ...state.metrics.map((metric) => formatted(metricOf(metric), now, state.by, money)),
        ]),
      [t('reports.total'), ...empty, ...totalsOf(sent).map(([, value]) => value)],
    ],
  };
}

type Written = ReturnType<typeof tableOf> & Record<'title' | 'days' | 'more' | 'page' | 'stop' | 'converted', string>;

const htmlOf = ({ title, days, head, rows, more, page, stop, converted }: Written): Html => html`<!doctype html>
  <html lang="${reader().language}">
    <head><meta charset="utf-8"><title>${title}</title></head>
    <body style="font-family:sans-serif;color:#222;background:#fff">
      <h1 style="font-size:20px">${title}</h1>
      <p>${days}</p>
      <table style="border-collapse:collapse">
        <thead><tr>${head.map((text) => html`<th style="${cell}left">${text}</th>`)}</tr></thead>
        <tbody>${rows.map((cells) => html`<tr>${cells.map((text) => html`<td style="${cell}left">${text}</td>`)}</tr>`)}
        </tbody>
      </table>
      ${more !== '' && html`<p>${more}</p>`}
      ${converted !== '' && html`<p>${converted}</p>`}
      <p><a href="${page}">${t('reports.openReport')}</a> · <a href="${stop}">${t('reports.stopSchedule')}</a></p>
    </body>
  </html>`;

/** Builds the chat message with the totals of a report. */
export const chatMessageOf = (sent: Sent): ChatMessage => ({
  title: `${sent.publisher}: ${sent.name}`,
  text: `${rangeText(sent.answer.periods.days)}\n${totalsText(sent)}`,
  link: { url: sent.page, text: t('reports.openReport') },
});
