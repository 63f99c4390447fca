import { type Static, Type } from '@sinclair/typebox';
import { audit } from '../../management/audit.ts';
import type { Values } from '../../management/resource.ts';
import { etagOf, requireMatch } from '../../management/rows.ts';
import { checkValue, patternProblem } from '../../management/schema-errors.ts';
import type { Work } from '../../management/unit-of-work.ts';
import { AppError, type ErrorDetail } from '../../platform/errors.ts';
import { parseRate } from '../../platform/exchange-rates.ts';
import { isCurrency } from '../../platform/money.ts';
import { type Problem, problem } from '../../platform/problem.ts';

/** Maximum number of rates per call, chosen so that they fit into a JSON body. */
const maxRates = 3000;
/** Maximum number of rates per publisher. The limit exists because reports read all of them. */
export const maxStoredRates = 20_000;
/** Maximum number of changed rates listed in an audit log entry. */
const maxLogged = 200;

const currencyCode = (description: string) => Type.String({ minLength: 3, maxLength: 3, description });
const firstDay = "First day on which the rate applies, in the publisher's time zone.";
const notADay = problem('aDay');
const rateMeaning = 'Units of `currency` per unit of `base`: a positive decimal with at most 12 significant digits.';

const rateInput = Type.Object(
  {
    currency: currencyCode('ISO 4217 code.'),
    rate: Type.Union([Type.Number(), Type.String({ maxLength: 40 })], { description: rateMeaning }),
    valid_from: Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\d$', [patternProblem]: notADay, description: firstDay }),
  },
  { title: 'ExchangeRateInput', additionalProperties: false },
);

export const exchangeRatesInput = Type.Object(
  {
    base: currencyCode('ISO 4217 code of the base currency.'),
    rates: Type.Array(rateInput, { maxItems: maxRates }),
  },
  { title: 'ExchangeRatesInput', additionalProperties: false },
);

export const exchangeRatesView = Type.Object(
  {
    publisher_id: Type.Integer(),
    base: Type.Union([Type.String(), Type.Null()], {
      title: 'ExchangeRateBase',
      description: 'ISO 4217 code of the base currency, or `null` if no rates are stored.',
    }),
    reporting_currency: Type.Union([Type.String(), Type.Null()], {
      title: 'ReportingCurrency',
      description: 'Currency of converted totals, as set for the publisher. `null` if totals are not converted.',
    }),
    rates: Type.Array(
      Type.Object(
        {
          currency: Type.String(),
          rate: Type.Number({ description: rateMeaning }),
          valid_from: Type.String({ format: 'date', description: firstDay }),
        },
        { title: 'ExchangeRate' },
      ),
      { description: 'Rates by currency, latest first within a currency.' },
    ),
  },
  { title: 'ExchangeRates' },
);

export type ExchangeRatesView = Static<typeof exchangeRatesView>;

/** Exchange rate of a currency, valid from a given day on. `rate` is a decimal string. */
export type NewRate = { currency: string; rate: string; valid_from: string };

type ExchangeRatesAnswer = { view: ExchangeRatesView; etag: string };

/** Returns the stored exchange rates of the current publisher. */
export const getExchangeRates = async (work: Work): Promise<ExchangeRatesAnswer> =>
  answerOf(await readExchangeRates(work, ''));

/**
 * Replaces all exchange rates of a publisher.
 * @throws AppError invalid_request with every invalid field; PreconditionFailed
 */
export async function setExchangeRates(
  work: Work,
  input: unknown,
  ifMatch: string | null,
): Promise<ExchangeRatesAnswer> {
  const { base, rates } = parse(input);
  const before = await readExchangeRates(work, 'for update');
  requireMatch(ifMatch, before, { base });
  await saveExchangeRates(work, before, base, rates);
  return answerOf(await readExchangeRates(work, ''));
}

/**
 * Reads the stored exchange rates.
 * @throws AppError resource_not_found
 */
export async function readExchangeRates(
  { executor, publisherId }: Work,
  lock: '' | 'for update',
): Promise<ExchangeRatesView> {
  const publishers = await executor.query<{ rates_base: string | null; reporting_currency: string | null }>(
    `select rates_base, reporting_currency from publishers where id = $1 ${lock}`,
    [publisherId],
  );
  const [publisher] = publishers.rows;
  if (publisher === undefined) throw new AppError('resource_not_found');
  const { rows } = await executor.query<NewRate>(
    `select currency, rate::text as rate, valid_from::text as valid_from from exchange_rates
    where publisher_id = $1 order by currency, valid_from desc`,
    [publisherId],
  );
  return {
    publisher_id: publisherId,
    base: publisher.rates_base,
    reporting_currency: publisher.reporting_currency,
    rates: rows.map(({ currency, rate, valid_from }) => ({ currency, rate: Number(rate), valid_from })),
  };
}

/** Replaces the stored rates (`before`) with new ones, and records the changes in the audit log. */
export async function saveExchangeRates(
  work: Work,
  before: ExchangeRatesView,
  base: string,
  rates: readonly NewRate[],
): Promise<void> {
  const { executor, publisherId } = work;
  const isNew = { base, rates: new Map(rates.map((rate) => [keyOf(rate), Number(rate.rate)])) };
  const stored = new Map(before.rates.map((rate) => [keyOf(rate), rate.rate]));
  const changed = rates.filter((rate) => stored.get(keyOf(rate)) !== Number(rate.rate));
  const removed = before.rates.filter((rate) => !isNew.rates.has(keyOf(rate)));
  if (before.base === base && changed.length === 0 && removed.length === 0) return;
  await executor.query('update publishers set rates_base = $2, updated_at = $3 where id = $1', [
    publisherId,
    base,
    new Date(work.nowMs),
  ]);
  await executor.query(
    `delete from exchange_rates where publisher_id = $1
      and (currency, valid_from) in (select * from unnest($2::text[], $3::date[]))`,
    [publisherId, removed.map(({ currency }) => currency), removed.map(({ valid_from }) => valid_from)],
  );
  await executor.query(
    `insert into exchange_rates (publisher_id, currency, valid_from, rate)
    select $1, * from unnest($2::text[], $3::date[], $4::numeric[])
    on conflict (publisher_id, currency, valid_from) do update set rate = excluded.rate`,
    [
      publisherId,
      changed.map(({ currency }) => currency),
      changed.map(({ valid_from }) => valid_from),
      changed.map(({ rate }) => rate),
    ],
  );
  await logChange(work, before, { base, changed, removed });
}

type Change = {
  base: string;
  changed: readonly NewRate[];
  removed: readonly { currency: string; valid_from: string }[];
};

/**
 * Inserts an audit log entry that lists the changed rates, each named after its currency and day. If there are many
 * changes, only the first ones are listed.
 */
async function logChange(work: Work, before: ExchangeRatesView, { base, changed, removed }: Change): Promise<void> {
  const id = work.publisherId;
  const keys = [...changed, ...removed].map(keyOf).slice(0, maxLogged);
  const old = new Map(before.rates.map((rate) => [keyOf(rate), rate.rate]));
  const now = new Map(changed.map((rate) => [keyOf(rate), Number(rate.rate)]));
  const listed = (rates: ReadonlyMap<string, number>): Values =>
    Object.fromEntries(keys.map((key) => [key, rates.get(key) ?? null]));
  const counts = {
    rates: before.rates.length - removed.length + changed.filter((rate) => !old.has(keyOf(rate))).length,
  };
  await audit(work, {
    resource: { name: 'exchange-rates', key: 'id', ownerOf: () => id },
    action: 'update',
    before: { id, base: before.base, rates: before.rates.length, ...listed(old) },
    after: { id, base, ...counts, ...listed(now) },
  });
}

/** Returns the name by which the audit log identifies a rate. */
export const keyOf = ({ currency, valid_from }: { currency: string; valid_from: string }): string =>
  `${currency} ${valid_from}`;

/** Parses and normalises rates: converts currencies to upper case and removes duplicates. */
function parse(input: unknown): { base: string; rates: NewRate[] } {
  const details = checkValue(exchangeRatesInput, input);
  if (details.length > 0) throw new AppError('invalid_request', { details });
  const body = input as Static<typeof exchangeRatesInput>;
  const base = body.base.toUpperCase();
  const rates = body.rates.map((row) => ({
    currency: row.currency.toUpperCase(),
    rate: decimalOf(row.rate),
    valid_from: row.valid_from,
  }));
  const wrong = checkRates(base, rates);
  if (wrong.length > 0) throw new AppError('invalid_request', { details: wrong });
  return { base, rates };
}

/**
 * Converts a JSON number back to the decimal string that was sent. Up to 12 significant digits are exact. Small numbers
 * are written without an exponent.
 */
const decimalOf = (rate: string | number): string => {
  if (typeof rate === 'string') return rate.trim();
  const text = String(rate);
  return /^\d(\.\d+)?e-\d+$/.test(text) ? rate.toFixed(20).replace(/0+$/, '') : text;
};

/** Maximum number of errors in a response. */
const maxDetails = 50;

function checkRates(base: string, rates: readonly NewRate[]): ErrorDetail[] {
  const details: ErrorDetail[] = isCurrency(base) ? [] : [{ path: '/base', message: notACurrency }];
  const keys = new Set<string>();
  for (const [at, rate] of rates.entries()) {
    if (details.length >= maxDetails) break;
    const wrong = rateProblem(rate, base) ?? (keys.has(keyOf(rate)) ? { field: 'currency', message: repeated } : null);
    if (wrong !== null) details.push({ path: `/rates/${at}/${wrong.field}`, message: wrong.message });
    keys.add(keyOf(rate));
  }
  return details;
}

const notACurrency = problem('currencyIso');
const repeated = problem('rateTwice');

/** Returns the problem with a rate, or null if the rate is valid. */
export function rateProblem(
  { currency, rate, valid_from }: NewRate,
  base: string,
): { field: keyof NewRate; message: Problem } | null {
  if (!isCurrency(currency)) return { field: 'currency', message: notACurrency };
  if (currency === base) return { field: 'currency', message: problem('baseNeedsNoRate') };
  if (parseRate(rate) === null) return { field: 'rate', message: problem('positiveDecimal') };
  return isDay(valid_from) ? null : { field: 'valid_from', message: notADay };
}

const isDay = (text: string): boolean =>
  /^(19|20|21)\d\d-\d\d-\d\d$/.test(text) && new Date(`${text}T00:00:00Z`).toJSON()?.slice(0, 10) === text;

const answerOf = (view: ExchangeRatesView): ExchangeRatesAnswer => ({ view, etag: etagOf(view) });
