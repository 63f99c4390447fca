import { Type } from '@sinclair/typebox';
import { checkSequenceRule, sequenceRule } from '../../catalog/rules.ts';
import { type Resource, removal, stamps } from '../../management/resource.ts';

const { placement, positions, ...others } = sequenceRule.properties;

/** Sequence rule resource. Sequence rules determine which offers may be shown at which position of a placement. */
export const sequenceRules: Resource = {
  name: 'sequence-rules',
  noun: 'sequence rule',
  table: 'sequence_rules',
  key: 'id',
  permission: 'configurations',
  input: Type.Object(
    { placement: { ...placement, default: null }, positions: { ...positions, default: null }, ...others },
    { additionalProperties: false },
  ),
  readOnly: { ...stamps, ...removal },
  removedAt: 'deleted_at',
  sorts: { id: 'integer', weight: 'integer', created_at: 'timestamptz', updated_at: 'timestamptz' },
  filters: ['placement', 'effect', 'active'],
  searched: ['placement'],
  check: (values) => checkSequenceRule(values),
};
