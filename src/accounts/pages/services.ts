import type { ManagementClient } from '../../management/page-client.ts';
import type { Shell } from '../../shell/layout.ts';
import type { OidcProvider } from '../oidc/provider.ts';
import type { AccountDeps } from '../ports.ts';
import type { Revert } from '../revert.ts';

/** What the pages of accounts are made with. */
export type PageServices = Shell & {
  deps: AccountDeps;
  management: ManagementClient;
  /** null without OIDC_ISSUER. */
  provider: OidcProvider | null;
  revert: Revert;
};
