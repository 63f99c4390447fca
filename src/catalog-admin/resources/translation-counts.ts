import { type TranslatedText, translatedTexts } from '../../catalog/types.ts';
import type { Work } from '../../management/unit-of-work.ts';
import { idealLengthIn } from './translations.ts';

/** Translation progress in one language. `missing` is the number of original strings without a translation. */
export type TranslationCounts = { tag: string; offers: number; missing: number; tooLong: number };

/** Returns the SQL expression for an offer text in the original language. */
const originalOf = (name: TranslatedText): string =>
  name === 'offer_description' ? 'c.offer_description' : `coalesce(o.${name}, '')`;

const sumOf = (conditions: readonly string[]): string =>
  conditions.map((condition) => `(${condition})::int`).join(' + ');

const missing = sumOf(
  translatedTexts.map((name) => `${originalOf(name)} <> '' and coalesce(t.texts ->> '${name}', '') = ''`),
);

const tooLong = sumOf(
  translatedTexts.flatMap((name) => {
    const ideal = idealLengthIn(name);
    return ideal === null ? [] : [`char_length(coalesce(t.texts ->> '${name}', '')) > ${ideal}`];
  }),
);

const originals = sumOf(translatedTexts.map((name) => `${originalOf(name)} <> ''`));

const keptOffers = `offers o join campaigns c on c.id = o.campaign_id and c.deleted_at is null
where o.publisher_id = $1 and o.deleted_at is null`;

/**
 * Counts translated offers, missing translations and overlong strings by language tag. All strings of an offer without
 * translations into a language are missing there, unless it is the offer's own language.
 */
export async function countTranslations({ executor, publisherId }: Work): Promise<TranslationCounts[]> {
  // Offers without translations are counted by subtraction, because there are far fewer translations than combinations
  // of offers and languages.
  const { rows } = await executor.query<TranslationCounts>(
    `with kept as materialized (
      select o.*, c.offer_description, ${originals} as originals,
        coalesce(o.language, (select language from publishers where id = $1)) as own_language
      from ${keptOffers}
    )
    select tag, count(*)::int as offers, sum(too_long)::int as "tooLong",
      ((select coalesce(sum(originals), 0) from kept where own_language <> tag)
        - coalesce(sum(originals - missing) filter (where own_language <> tag), 0))::int as missing
    from (
      select t.tag, o.own_language, o.originals, ${missing} as missing, ${tooLong} as too_long
      from kept o
      cross join lateral (select o.offer_description) c
      cross join lateral jsonb_each(o.translations) t (tag, texts)
    ) counted
    group by tag order by tag`,
    [publisherId],
  );
  return rows;
}

/** Offer with missing translations in a language. */
export type Untranslated = { id: number; title: string; missing: number };

/** Maximum number of offers in the list. */
const maxListed = 100;

/**
 * Returns the offers with missing translations in a language, sorted by the number of missing translations, highest
 * first.
 */
export async function findUntranslated({ executor, publisherId }: Work, tag: string): Promise<Untranslated[]> {
  const { rows } = await executor.query<Untranslated>(
    `select id, title, missing from (
      select o.id, coalesce(nullif(o.title, ''), o.short_headline) as title, ${missing} as missing
      from (select o.*, c.offer_description from ${keptOffers}) o
      cross join lateral (select o.offer_description) c
      cross join lateral (select coalesce(o.translations -> $2::text, '{}') as texts) t
      where coalesce(o.language, (select language from publishers where id = $1)) <> $2
    ) counted
    where missing > 0 order by missing desc, id limit ${maxListed}`,
    [publisherId, tag],
  );
  return rows;
}
