import { type Static, Type } from '@sinclair/typebox';
import { checkOverrides, settingsOverrides } from '../../catalog-admin/theme-overrides.ts';
import { offersPerResponse } from '../../management/fields.ts';
import { idSchema } from '../../management/resource.ts';
import { patternProblem } from '../../management/schema-errors.ts';
import type { ErrorDetail } from '../../platform/errors.ts';
import { problem } from '../../platform/problem.ts';

/** Web SDK labels that arms can change (docs/guides/web.md#languages). */
export const labelNames = ['offers', 'close', 'done', 'back', 'terms', 'progress', 'saved', 'newTab'] as const;

/** Settings that an arm can't change, because they are derived from the publisher or from other theme fields. */
const derived = new Set([
  ...['multi_offer_unit', 'enable_usp', 'usp_all_offers_checked', 'enable_wallet', 'enable_perkswallet'],
  'enable_offerwall',
]);

const changeable = Object.fromEntries(
  Object.entries(settingsOverrides.properties).filter(([name]) => !derived.has(name)),
);

const changesSchema = Type.Partial(
  Type.Object({
    offers_per_response: { ...offersPerResponse, description: 'Maximum number of offers per response.' },
    theme_id: {
      ...idSchema,
      description: 'ID of the theme. It overrides the theme of the fetch and of the placement.',
    },
    settings: Type.Object(changeable, {
      title: 'ExperimentSettings',
      additionalProperties: false,
      description: 'Unit settings.',
    }),
    labels: Type.Partial(
      Type.Object(Object.fromEntries(labelNames.map((name) => [name, Type.String({ minLength: 1, maxLength: 200 })]))),
      { title: 'ExperimentLabels', additionalProperties: false, description: 'Labels of the web SDK.' },
    ),
    ranking: Type.Union([Type.Literal('learned'), Type.Literal('fixed')], {
      description: 'Ranking: `fixed` ranks by weight only; `learned` uses the setting of each campaign.',
    }),
    floor: Type.Number({
      minimum: 0,
      maximum: 1_000_000,
      description: 'Minimum expected revenue per 1,000 impressions. Offers below it are not shown.',
    }),
  }),
  {
    title: 'ArmChanges',
    additionalProperties: false,
    description: 'Changes that the arm makes. Empty for no changes.',
  },
);

export const share = Type.Number({ minimum: 0, maximum: 1 });

/** Converts a share to a percentage, rounded to 0.01%. */
export const percentOf = (part: number): number => Math.round(part * 1e4) / 100;

/** Maximum number of arms, not counting the control. */
export const maxArms = 4;

/** Schema of experiment keys and arm keys. */
export const keySchema = Type.String({
  pattern: '^[A-Za-z0-9_.-]{1,64}$',
  [patternProblem]: problem('attributeLetters'),
});

export const armSchema = Type.Object(
  {
    key: { ...keySchema, description: 'Key of the arm in responses and reports.' },
    share: { ...share, description: 'Share of the traffic, from 0 to 1.' },
    changes: changesSchema,
  },
  { title: 'ExperimentArm', additionalProperties: false },
);

export type ArmInput = Static<typeof armSchema>;

/** Validates an arm's changes beyond what the schema covers. */
export const checkChanges = ({ changes }: ArmInput, path: string): ErrorDetail[] =>
  checkOverrides({ settings: changes.settings ?? {}, styles: {}, appearance: {} }).map((detail) => ({
    ...detail,
    path: `${path}${detail.path}`,
  }));

/** Returns the paths of the settings that arms change, such as `settings/delay`. */
export const touchedBy = (arms: readonly ArmInput[]): string[] => [
  ...new Set(
    arms.flatMap(({ changes }) =>
      Object.entries(changes).flatMap(([name, value]) =>
        typeof value === 'object' && value !== null ? Object.keys(value).map((part) => `${name}/${part}`) : name,
      ),
    ),
  ),
];
