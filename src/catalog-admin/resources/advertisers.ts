import { Type } from '@sinclair/typebox';
import { ownEventsField } from '../../catalog/event-kinds.ts';
import { flag, nameField } from '../../management/fields.ts';
import { type Resource, removal, stamps, stopExpressions, stopFields } from '../../management/resource.ts';
import { checkTrust } from '../approval.ts';

export const advertisers: Resource = {
  name: 'advertisers',
  noun: 'advertiser',
  table: 'advertisers',
  key: 'id',
  permission: 'offers/management',
  input: Type.Object(
    {
      name: nameField('Name that is shown with every offer.'),
      trusted: flag(
        false,
        "Whether drafts of this advertiser's accounts are approved automatically. Requires the permission " +
          '`offers/approval`.',
      ),
      own_events: ownEventsField(
        "Names of the advertiser's own events. Each of its offers gets a beacon for each of them.",
      ),
    },
    { additionalProperties: false },
  ),
  readOnly: { ...stopFields, ...stamps, ...removal },
  expressions: stopExpressions,
  removedAt: 'deleted_at',
  heldBy: [{ noun: 'campaign', table: 'campaigns', column: 'advertiser_id', removable: true }],
  sorts: { id: 'integer', name: 'text', created_at: 'timestamptz', updated_at: 'timestamptz' },
  filters: ['name', 'stopped'],
  searched: ['name'],
  check: checkTrust,
};
