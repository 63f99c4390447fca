import type { CampaignRules } from '../../catalog/rules.ts';
import type { Values, Warning } from '../../management/resource.ts';
import { findUnknownLanguage } from '../../platform/lib/language-names.ts';
import { problem } from '../../platform/problem.ts';

function warnOfTag(path: string, tag: string): Warning[] {
  const unknown = findUnknownLanguage(tag);
  if (unknown === null) return [];
  const { part, suggestion } = unknown;
  return [
    {
      path,
      message:
        suggestion === null ? problem('languageUnknown', { part }) : problem('languageMeant', { part, suggestion }),
    },
  ];
}

/** Returns warnings about an offer's languages that do not exist. No user would ever see those translations. */
export const warnOfLanguages = ({ language, translations }: Values): Warning[] => [
  ...(typeof language === 'string' ? warnOfTag('/language', language) : []),
  ...Object.keys(translations as object).flatMap((tag) => warnOfTag(`/translations/${tag}`, tag)),
];

/** Returns warnings about targeted languages that do not exist. */
export function warnOfTargetedLanguages({ rules }: Values): Warning[] {
  const { include = [], exclude = [] } = (rules as CampaignRules).targeting?.languages ?? {};
  return Object.entries({ include, exclude }).flatMap(([side, tags]) =>
    tags.flatMap((tag, index) => warnOfTag(`/rules/targeting/languages/${side}/${index}`, tag)),
  );
}
