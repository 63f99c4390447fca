import type { Publisher } from '../../../catalog/types.ts';
import type { Reason } from '../../../decision/reason.ts';
import { dayMs, minuteMs } from '../../../platform/lib/time.ts';
import { moneyFormat } from '../../../reports/money.ts';
import { momentText, perLocale } from '../../../shell/format.ts';
import { type ReasonFormat, reasonText } from '../../fetch/reason-text.ts';

/** Days and times of a week have no date; that of the first of January 2024, a Monday, stands for it. */
const clockMs = Date.UTC(2024, 0, 1);
const clockFormat = perLocale(
  (locale, kind) =>
    new Intl.DateTimeFormat(locale, {
      timeZone: 'UTC',
      ...(kind === 'weekday' ? { weekday: 'long' } : { timeStyle: 'short' }),
    }),
);
const countFormat = perLocale((locale) => new Intl.NumberFormat(locale));
const shareFormat = perLocale(
  (locale) => new Intl.NumberFormat(locale, { style: 'percent', maximumSignificantDigits: 2 }),
);

/** Why an offer is shown or not, for the reader of the dashboard; times are those of the publisher. */
export function reasonFor(publisher: Publisher, reason: Reason): string {
  const format: ReasonFormat = {
    count: (value) => countFormat('').format(value),
    share: (value) => shareFormat('').format(value),
    moment: (atMs) => momentText(publisher, atMs),
    weekday: (day) => clockFormat('weekday').format(clockMs + day * dayMs),
    timeOfDay: (minute) => clockFormat('time').format(clockMs + minute * minuteMs),
    amount: (micros, currency) => moneyFormat(currency)(micros / 1_000_000),
  };
  return reasonText(reason, format);
}
