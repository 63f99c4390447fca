import type pg from 'pg';
import type { Snapshot } from '../../catalog/types.ts';
import type { CatalogAdmin } from '../../catalog-admin/module.ts';
import type { Config } from '../../config.ts';
import type { ManagementClient } from '../../management/page-client.ts';
import type { Geo } from '../../platform/geo.ts';
import type { FailureLimit } from '../../platform/http/failure-limit.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Mailer } from '../../platform/mailer.ts';
import type { SecretBox } from '../../platform/security/secret-box.ts';
import type { Shell } from '../../shell/layout.ts';
import type { OidcProvider } from '../oidc/provider.ts';
import type { Revert } from '../revert.ts';

type PageDeps = {
  pool: pg.Pool;
  catalog: { current: () => Snapshot };
  config: Config;
  secretBox: SecretBox;
  /** Mailer, or null if SMTP_URL is not set. */
  mailer: Mailer | null;
  failures: FailureLimit;
  geo: Geo;
  logger: Logger;
  now: () => number;
};

/** Dependencies of the account pages. */
export type PageServices = Shell & {
  deps: PageDeps;
  management: ManagementClient;
  /** OpenID provider, or null if OIDC_ISSUER is not set. */
  provider: OidcProvider | null;
  revert: Revert;
  /** Creates the picker for the search fields of a page. */
  pickerFor: CatalogAdmin['pickerFor'];
};
