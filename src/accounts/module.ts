import type { Catalog } from '../catalog/module.ts';
import type { CatalogAdmin } from '../catalog-admin/module.ts';
import type { OidcSetting } from '../config/oidc.ts';
import type { ManagementHttp } from '../management/http.ts';
import type { ManagementClient } from '../management/page-client.ts';
import { openManagementScope, resourceRoutes } from '../management/resource-routes.ts';
import { operatorPermission, type PermissionEntry } from '../management/unit-of-work.ts';
import type { App } from '../platform/http/app.ts';
import type { Platform } from '../platform/module.ts';
import type { Shell } from '../shell/layout.ts';
import type { NavEntry } from '../shell/navigation.ts';
import { signInPath } from './access.ts';
import { auditLog } from './audit-log.ts';
import { createKeyAuthenticator, createKeyCheck, createKeyUses } from './caller.ts';
import { accountCommands } from './commands.ts';
import { keyAdditions, keyRoutes, keysOf } from './keys.ts';
import { createOidcProvider, type OidcProvider } from './oidc/provider.ts';
import { accountPages } from './pages/account.ts';
import { activityPages } from './pages/activity/activity-log.ts';
import { registerConfirmation } from './pages/confirmation.ts';
import { forgotPasswordPages } from './pages/forgot-password.ts';
import { keyPages } from './pages/keys.ts';
import { oneTimeLinkPages } from './pages/one-time-link.ts';
import { providerSignOut } from './pages/provider-sign-out.ts';
import { rolePages } from './pages/roles.ts';
import { secondFactorPages } from './pages/second-factor.ts';
import { signInPages } from './pages/sign-in.ts';
import { callbackPath, singleSignOnPages } from './pages/single-sign-on.ts';
import { userPages } from './pages/users.ts';
import { createRevert } from './revert.ts';
import { rolesOf } from './roles.ts';
import { createSessionCheck } from './sessions.ts';
import { syslogJob } from './syslog/job.ts';

type AccountsDeps = { platform: Platform; catalog: Catalog; catalogAdmin: CatalogAdmin };

export type Accounts = ReturnType<typeof createAccounts>;

/** Creates the accounts module: users, sessions, sign-in, API keys and the audit log. */
export function createAccounts({ platform, catalog, catalogAdmin }: AccountsDeps) {
  const { config, pool, mailer, failures, geo, logger, secretBox, now } = platform.deps;
  const { store } = catalog;
  const uses = createKeyUses(pool, now);
  const auth = createKeyAuthenticator(store, now, uses);
  const deps = { pool, catalog: store, config, secretBox, mailer, failures, geo, logger, now };
  const provider = config.oidc === null ? null : openProvider(config.oidc, config.publicUrl, now);
  const revert = createRevert(catalogAdmin.revertible);
  const host = new URL(config.publicUrl).hostname;
  const { auditSyslog: setting } = config;
  const syslogJobs = setting === null ? [] : [syslogJob({ pool, setting, host })];
  const servicesOf = (shell: Shell, client: ManagementClient) => ({
    ...shell,
    deps,
    management: client,
    provider,
    revert,
    pickerFor: catalogAdmin.pickerFor,
  });
  return {
    name: 'accounts',
    rank: 30,
    commands: accountCommands,
    auth,
    checkKey: createKeyCheck(store, now),
    checkSession: createSessionCheck(pool, now),
    permissions,
    navigation,
    rowAdditions: { keys: keyAdditions },
    jobs: () => [uses.job, ...syslogJobs],
    routes: (app: App, { http, permissions }: { http: ManagementHttp; permissions: readonly PermissionEntry[] }) =>
      app.register(async (scope: App) => {
        openManagementScope(scope);
        keyRoutes(scope, http, keysOf(permissions));
        resourceRoutes(scope, http, rolesOf(permissions), ['list', 'create', 'get', 'update', 'remove']);
        resourceRoutes(scope, http, auditLog, ['list']);
      }) as unknown as Promise<void>,
    openPages: async (app: App, shell: Shell, contributions: { management: ManagementClient }) => {
      const services = servicesOf(shell, contributions.management);
      signInPages(app, services);
      secondFactorPages(app, services);
      if (config.oidc !== null && provider !== null) {
        singleSignOnPages(app, services, { setting: config.oidc, provider });
        providerSignOut(app, services, provider);
      }
      if (config.passwordSignIn) oneTimeLinkPages(app, services);
      if (config.passwordSignIn && mailer !== null) forgotPasswordPages(app, services, mailer);
    },
    pages: (app: App, shell: Shell, contributions: { management: ManagementClient }) => {
      const services = servicesOf(shell, contributions.management);
      registerConfirmation(app, services);
      for (const register of [accountPages, activityPages, keyPages, rolePages, userPages]) register(app, services);
    },
  };
}

const openProvider = (setting: OidcSetting, publicUrl: string, now: () => number): OidcProvider =>
  createOidcProvider({
    setting,
    callbackUrl: `${publicUrl}${callbackPath}`,
    signedOutUrl: `${publicUrl}${signInPath}`,
    now,
  });

const permissions: readonly PermissionEntry[] = [
  { name: operatorPermission, role: 'operator', text: 'settings.permissionAccounts' },
];

const navigation: readonly NavEntry[] = [
  {
    group: 'developers',
    rank: 50,
    key: 'keys',
    text: 'nav.keys',
    words: 'navWords.keys',
    path: '/settings/keys',
    icon: 'keys',
    role: 'admin',
  },
  {
    group: 'settings',
    rank: 40,
    key: 'users',
    text: 'nav.users',
    words: 'navWords.users',
    path: '/settings/users',
    icon: 'users',
    role: 'admin',
  },
  {
    group: 'settings',
    rank: 45,
    key: 'roles',
    text: 'nav.roles',
    words: 'navWords.roles',
    path: '/settings/roles',
    icon: 'roles',
    role: 'admin',
    adds: { noun: 'nouns.role', role: 'admin' },
  },
  {
    group: 'settings',
    rank: 50,
    key: 'activity',
    text: 'nav.activity',
    words: 'navWords.activity',
    path: '/settings/activity',
    icon: 'activity',
    role: 'admin',
  },
  {
    group: 'operator',
    rank: 20,
    key: 'operators',
    text: 'nav.operators',
    words: 'navWords.users',
    path: '/operator/users',
    icon: 'users',
    role: 'operator',
  },
  {
    group: 'operator',
    rank: 30,
    key: 'operator-activity',
    text: 'nav.operatorActivity',
    words: 'navWords.activity',
    path: '/operator/activity',
    icon: 'activity',
    role: 'operator',
  },
];
