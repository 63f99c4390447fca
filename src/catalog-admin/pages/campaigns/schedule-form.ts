import { type Html, html } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { minuteOf } from '../../../platform/lib/time-zone.ts';
import type { FieldErrors, Fields } from '../../../shell/context.ts';
import {
  instantToLocal,
  localToInstant,
  perLocale,
  timeZoneList,
  timeZoneListId,
  timeZoneNamed,
} from '../../../shell/format.ts';
import { chosenOf, columns, type FormBuilder, isNested } from '../../../shell/forms.ts';
import { rowList } from '../../../shell/row-list.ts';
import { fieldPart, type RulesPart } from './rules-part.ts';

/** Time window on certain days. `from` and `to` are `HH:MM`; `days` are 1 (Monday) to 7 (Sunday). */
export type HourWindow = { days: number[]; from: string; to: string };

const grid = 'rules.schedule.grid';
const exact = 'rules.schedule.exact';

const days = [1, 2, 3, 4, 5, 6, 7];

/** Returns the name of a weekday, from 1 (Monday). 1 January 2024 was a Monday. */
const dayName = (day: number, style: 'long' | 'short'): string => weekdayFormat(style).format(Date.UTC(2024, 0, day));

const weekdayFormat = perLocale(
  (locale, style) => new Intl.DateTimeFormat(locale, { weekday: style as 'long' | 'short', timeZone: 'UTC' }),
);
const hours = Array.from({ length: 24 }, (_, hour) => hour);
const timeOfHour = (hour: number): string => `${String(hour).padStart(2, '0')}:00`;

const instantPart = (name: 'start_at' | 'end_at', timeZone: string): RulesPart =>
  fieldPart(
    `schedule.${name}`,
    (value) => (typeof value === 'string' ? instantToLocal(value, timeZone) : ''),
    (text) => (text === '' ? undefined : localToInstant(text, timeZone)),
  );

const zonePart = fieldPart(
  'schedule.time_zone',
  (value) => String(value ?? ''),
  (text) => timeZoneNamed(text) || undefined,
);

/**
 * Mapping for the schedule hours. Windows of whole hours are shown as cells of a grid; all other windows are shown as
 * form rows.
 */
const hoursPart: RulesPart = {
  path: 'schedule.hours',
  toForm: (value) => {
    if (value === undefined) return { [grid]: [] };
    if (!Array.isArray(value) || !value.every(isWindow)) return null;
    const isWhole = ({ from, to }: HourWindow) =>
      [minuteOf(from), minuteOf(to)].every((at) => at !== null && at % 60 === 0);
    return {
      [grid]: [...new Set(value.filter(isWhole).flatMap(cellsOf))].sort(),
      ...Object.fromEntries(value.filter((timeWindow) => !isWhole(timeWindow)).flatMap(rowOf)),
    };
  },
  read: (fields) => {
    const windows = [...readExact(fields), ...windowsOf(fields.all(grid))];
    return windows.length === 0 ? undefined : windows;
  },
};

const isWindow = (value: unknown): value is HourWindow =>
  isNested(value) && Array.isArray(value.days) && typeof value.from === 'string' && typeof value.to === 'string';

const cellsOf = (window: HourWindow): string[] => {
  const [from, to] = [minuteOf(window.from) ?? 0, minuteOf(window.to) ?? 0];
  return window.days.flatMap((day) =>
    hours.filter((hour) => hour * 60 >= from && hour * 60 < to).map((hour) => `${day}-${hour}`),
  );
};

const rowOf = ({ days: on, from, to }: HourWindow, index: number): [string, string | string[]][] => [
  [`${exact}.${index}.days`, on.map(String)],
  [`${exact}.${index}.from`, from],
  [`${exact}.${index}.to`, to],
];

const readExact = (fields: Fields): unknown[] =>
  Array.from({ length: fields.rowCount(exact) }, (_, index) => ({
    days: fields.all(`${exact}.${index}.days`).map(Number),
    from: fields.text(`${exact}.${index}.from`),
    to: fields.text(`${exact}.${index}.to`),
  }));

/**
 * Returns the smallest set of time windows that covers the checked cells. Each window is a run of consecutive hours,
 * with all days that have the same run.
 */
function windowsOf(cells: readonly string[]): HourWindow[] {
  const checked = new Set(cells);
  const byRun = new Map<string, HourWindow>();
  for (const day of days.keys()) {
    const isOn = (hour: number): boolean => checked.has(`${day + 1}-${hour}`);
    for (const start of hours.filter((hour) => isOn(hour) && !isOn(hour - 1))) {
      let end = start + 1;
      while (isOn(end)) end += 1;
      const [from, to] = [timeOfHour(start), timeOfHour(end)];
      const sameRun = byRun.get(`${from}-${to}`);
      if (sameRun === undefined) byRun.set(`${from}-${to}`, { days: [day + 1], from, to });
      else sameRun.days.push(day + 1);
    }
  }
  return [...byRun.values()];
}

export const scheduleParts = (timeZone: string): readonly RulesPart[] => [
  instantPart('start_at', timeZone),
  instantPart('end_at', timeZone),
  zonePart,
  hoursPart,
];

/** Maps errors in a window to its form row, or to the grid. */
export function scheduleErrors(errors: FieldErrors, fields: Fields): FieldErrors {
  const rows = fields.rowCount(exact);
  return errors.map((error) => {
    const [, index = '', rest = ''] = /^\/rules\/schedule\/hours(?:\/(\d+))?(.*)$/.exec(error.path) ?? [null];
    if (!error.path.startsWith('/rules/schedule/hours')) return error;
    const isRow = index !== '' && Number(index) < rows;
    return { ...error, path: isRow ? `/rules/schedule/exact/${index}${rest}` : '/rules/schedule/grid' };
  });
}

export const scheduleFields = (form: FormBuilder, timeZone: string): Html => html`
  ${columns([
    form.input('rules.schedule.start_at', {
      label: t('campaigns.start'),
      type: 'datetime-local',
      hint: t('campaigns.startHint', { zone: timeZone }),
    }),
    form.input('rules.schedule.end_at', {
      label: t('campaigns.end'),
      type: 'datetime-local',
      hint: t('campaigns.endHint'),
    }),
  ])}
  ${form.custom(grid, t('campaigns.hourGrid'), hourGrid(chosenOf(form.values, grid)))}
  ${rowList(form, {
    name: exact,
    noun: t('campaigns.timeWindow'),
    add: t('campaigns.addTimeWindow'),
    first: 'from',
    row: (prefix, of) => windowFields(form, prefix, of),
  })}
  ${form.input('rules.schedule.time_zone', {
    label: t('campaigns.hoursZone'),
    list: timeZoneListId,
    placeholder: t('campaigns.zoneOfUser'),
    hint: t('campaigns.hoursZoneHint', { zone: timeZone }),
  })}
  ${timeZoneList()}`;

/** Describes a time window, such as `Mon–Fri 08:00–22:00`. */
export const windowText = ({ days: on, from, to }: HourWindow): string => `${daysText(on)} ${from}–${to}`;

/** Describes days of the week, such as `Mon–Fri`. */
export function daysText(on: readonly number[]): string {
  const sorted = [...new Set(on)].sort();
  const [first = 1, last = 1] = [sorted[0], sorted.at(-1)];
  const isRun = sorted.length > 2 && last - first === sorted.length - 1;
  const names = (isRun ? [first, last] : sorted).map((day) => dayName(day, 'short'));
  return names.join(isRun ? '–' : ', ');
}

const windowFields = (form: FormBuilder, prefix: string, of: string): Html => html`
  ${form.input(`${prefix}.from`, { label: t('campaigns.from'), of, placeholder: '09:30' })}
  ${form.input(`${prefix}.to`, { label: t('campaigns.to'), of, placeholder: '17:45' })}
  ${form.checkboxes(`${prefix}.days`, {
    label: t('campaigns.daysLabel'),
    of,
    choices: days.map((day) => ({ value: String(day), text: dayName(day, 'short') })),
  })}`;

/** Renders a grid with a checkbox for each hour of the week. */
function hourGrid(checkedCells: readonly string[]): Html {
  const box = (day: number, hour: number): Html => {
    const value = `${day + 1}-${hour}`;
    const label = `${dayName(day + 1, 'long')} ${timeOfHour(hour)}`;
    return html`
      <input type="checkbox" name="${grid}" value="${value}" aria-label="${label}" title="${label}"
        ${checkedCells.includes(value) && html` checked`}>`;
  };
  return html`
    <fieldset class="field">
      <legend>${t('campaigns.hourGrid')}</legend>
      <p class="hint" id="hours-hint">${t('campaigns.hourGridHint')}</p>
      <div class="hour-grid" data-hour-grid>
        <span></span>
        ${hours.map((hour) => html`<span class="hour" aria-hidden="true">${hour}</span>`)}
        ${days.map(
          (day, index) => html`
            <span class="day" aria-hidden="true">${dayName(day, 'short')}</span>
            ${hours.map((hour) => box(index, hour))}`,
        )}
      </div>
    </fieldset>`;
}
