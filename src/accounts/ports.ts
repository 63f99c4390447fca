import type { CatalogStore } from '../catalog/store.ts';
import type { Management } from '../management/unit-of-work.ts';
import type { Authenticator } from '../platform/http/auth.ts';
import type { Platform } from '../platform/module.ts';
import type { Caller } from './caller.ts';

/** Services that the offers and tracking modules use. */
export type AccountDeps = Platform['deps'] & {
  catalog: CatalogStore;
  management: Management;
  auth: Authenticator<Caller>;
};
