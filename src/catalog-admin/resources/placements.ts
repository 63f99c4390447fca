import { Type } from '@sinclair/typebox';
import { maxPlacementLength, maxPlacements, normaliseName } from '../../catalog/names.ts';
import { offersPerResponse, percentage, text } from '../../management/fields.ts';
import { idSchema, orNull, type Resource, stamps } from '../../management/resource.ts';
import { patternProblem } from '../../management/schema-errors.ts';
import { AppError } from '../../platform/errors.ts';
import { problem } from '../../platform/problem.ts';
import { themes } from './themes.ts';

/** Schema of a normalised placement name. */
export const placementName = (description?: string) =>
  Type.String({
    maxLength: maxPlacementLength,
    pattern: '^[^A-Z\\s_]+$',
    [patternProblem]: problem('empty'),
    ...(description !== undefined && { description }),
  });

/** Placement resource. Fetches refer to placements by name. Unknown placements are created on first use. */
export const placements: Resource = {
  name: 'placements',
  noun: 'placement',
  table: 'placements',
  key: 'name',
  within: { placement: 'name' },
  permission: 'configurations',
  input: Type.Object(
    {
      name: placementName(
        'Name of the placement. It is converted to lower case; spaces and underscores become hyphens. It cannot ' +
          'be changed later.',
      ),
      display_name: text(200, { default: '' }),
      theme_id: orNull(idSchema, {
        default: null,
        description: "Theme of the placement. `null` for the publisher's default theme.",
      }),
      offers_per_response: orNull(offersPerResponse, {
        default: null,
        description: 'Maximum number of offers per response. `null` for the value of the theme.',
      }),
      delivery_percentage: orNull(percentage, {
        default: null,
        description: 'Percentage of users who get offers. `null` for the value of the theme.',
      }),
      unit_enabled: orNull(Type.Boolean(), {
        default: null,
        description: 'Whether the unit shows offers. `null` for the value of the theme.',
      }),
    },
    { additionalProperties: false },
  ),
  readOnly: {
    auto_created: Type.Boolean({ description: 'Whether the placement was created by a fetch with its name.' }),
    ...stamps,
  },
  fixed: ['name'],
  references: { theme_id: themes },
  unique: { placements_pkey: 'name' },
  sorts: { name: 'text', created_at: 'timestamptz', updated_at: 'timestamptz' },
  filters: ['theme_id', 'auto_created', 'unit_enabled'],
  searched: ['name', 'display_name'],
  prepare: (values) => (typeof values.name === 'string' ? { ...values, name: normaliseName(values.name) } : values),
  beforeSave: async ({ executor, publisherId }, _values, current) => {
    if (current !== null) return;
    await executor.query('select 1 from publishers where id = $1 for update', [publisherId]);
    const { rows } = await executor.query<{ count: number }>(
      'select count(*)::int as count from placements where publisher_id = $1',
      [publisherId],
    );
    if ((rows[0]?.count ?? 0) >= maxPlacements)
      throw new AppError('conflict', { message: problem('maxPlacements', { max: maxPlacements }) });
  },
};
