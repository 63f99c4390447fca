import type { ErrorPages } from '../../platform/http/error-pages.ts';

/** Error pages that the wallet routes show to users. */
export const walletErrorPages: ErrorPages = {
  wallet_not_enabled: 'endUser.wallet.notEnabled',
  invalid_token: 'endUser.wallet.invalidLink',
};
