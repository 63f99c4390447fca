import { Type } from '@sinclair/typebox';
import { maxThemeKeyLength, normaliseName } from '../../catalog/names.ts';
import { themeKeyFrom, themeKeyProblem } from '../../catalog/themes.ts';
import { audit } from '../../management/audit.ts';
import { flag, nameField, offersPerResponse, percentage, text } from '../../management/fields.ts';
import { orNull, type Resource, removal, stamps, type Values } from '../../management/resource.ts';
import { columnsOf, viewOf } from '../../management/rows.ts';
import type { Work } from '../../management/unit-of-work.ts';
import type { ErrorDetail } from '../../platform/errors.ts';
import { problem } from '../../platform/problem.ts';
import {
  appearanceOverrides,
  checkOverrides,
  settingsOverrides,
  stylesOverrides,
  warnOfTheme,
} from '../theme-overrides.ts';

type Overrides = Parameters<typeof checkOverrides>[0];

/** Theme resource: appearance and behaviour of a publisher's offer units. */
export const themes: Resource = {
  name: 'themes',
  noun: 'theme',
  table: 'themes',
  key: 'id',
  permission: 'configurations',
  input: Type.Object(
    {
      name: nameField(),
      key: text(maxThemeKeyLength, {
        default: '',
        description:
          'Key of the theme in requests and pages (`themeId`). It is converted to lower case; spaces and ' +
          'underscores become hyphens. Defaults to a key that is derived from the name.',
      }),
      unit: Type.Union([Type.Literal('sou'), Type.Literal('mou')], {
        description: 'Type of the unit: single offer (`sou`) or multi offer (`mou`).',
      }),
      is_default: flag(
        false,
        'Whether the theme is the default for fetches and placements without a theme. A publisher has at most ' +
          'one default theme.',
      ),
      usp_enabled: flag(false, 'Whether User Selected Perks are enabled. Only for multi offer units.'),
      usp_check_all: flag(false, 'Whether all offers are preselected for User Selected Perks.'),
      offers_per_response: orNull(offersPerResponse, {
        default: null,
        description: 'Maximum number of offers per response. `null` for the value of the publisher.',
      }),
      delivery_percentage: orNull(percentage, {
        default: null,
        description: 'Percentage of users who get offers. `null` for the value of the publisher.',
      }),
      unit_enabled: orNull(Type.Boolean(), {
        default: null,
        description: 'Whether the unit shows offers. `null` for the value of the publisher.',
      }),
      settings: Type.Object(settingsOverrides.properties, {
        title: 'ThemeSettings',
        additionalProperties: false,
        default: {},
        description: 'Settings that differ from the defaults.',
      }),
      styles: Type.Object(stylesOverrides.properties, {
        title: 'ThemeStyles',
        additionalProperties: false,
        default: {},
        description: 'Styles that differ from the defaults.',
      }),
      appearance: Type.Object(appearanceOverrides.properties, {
        title: 'ThemeAppearance',
        additionalProperties: false,
        default: {},
        description: 'Dark mode, width, spacing and web font, where they differ from the defaults.',
      }),
    },
    { additionalProperties: false },
  ),
  readOnly: { ...stamps, ...removal },
  removedAt: 'deleted_at',
  heldBy: [{ noun: 'placement', table: 'placements', column: 'theme_id', removable: false }],
  sorts: { id: 'integer', name: 'text', created_at: 'timestamptz', updated_at: 'timestamptz' },
  filters: ['unit', 'is_default', 'usp_enabled'],
  searched: ['name', 'key'],
  unique: { themes_key: 'key' },
  prepare: (values) => (typeof values.key === 'string' ? { ...values, key: normaliseName(values.key) } : values),
  complete: async (values, work, current) =>
    values.key === '' ? { ...values, key: current?.key ?? (await freeKey(work, String(values.name))) } : values,
  check: (values) => [
    ...checkKey(values.key as string),
    ...(values.unit === 'sou' && values.usp_enabled === true
      ? [{ path: '/usp_enabled', message: problem('multiOfferOnly') }]
      : []),
    ...checkOverrides(values as Overrides),
  ],
  warn: (view) => warnOfTheme(view as Overrides),
  beforeSave: async (work, values, current) => {
    if (values.is_default === true && current?.is_default !== true) await yieldDefault(work);
  },
  beforeRemove: async ({ executor }, { id }) => {
    await executor.query('update themes set is_default = false where id = $1', [id]);
  },
};

/** Validates a theme key. An empty key is valid, because a key will be generated from the name. */
function checkKey(key: string): ErrorDetail[] {
  const message = key === '' ? null : themeKeyProblem(key);
  return message === null ? [] : [{ path: '/key', message }];
}

/** Generates an unused key. The lock on the publisher's row prevents concurrent calls from generating the same key. */
async function freeKey({ executor, publisherId }: Work, name: string): Promise<string> {
  await executor.query('select 1 from publishers where id = $1 for no key update', [publisherId]);
  const { rows } = await executor.query<{ key: string }>(
    'select key from themes where publisher_id = $1 and deleted_at is null',
    [publisherId],
  );
  return themeKeyFrom(name, new Set(rows.map(({ key }) => key)));
}

/**
 * Unsets the current default theme, so that another can become the default. The lock on the publisher's row serialises
 * concurrent changes.
 */
async function yieldDefault(work: Work): Promise<void> {
  await work.executor.query('select 1 from publishers where id = $1 for no key update', [work.publisherId]);
  const { rows } = await work.executor.query<Values>(
    `update themes set is_default = false, updated_at = $2 where publisher_id = $1 and is_default
    returning ${columnsOf(themes, work)}`,
    [work.publisherId, new Date(work.nowMs)],
  );
  for (const row of rows) {
    const after = viewOf(row);
    await audit(work, { resource: themes, action: 'update', before: { ...after, is_default: true }, after });
  }
}
