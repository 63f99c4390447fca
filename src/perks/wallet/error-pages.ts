import type { ErrorPages } from '../../platform/http/error-pages.ts';

/** Error pages shown instead of the wallet. */
export const walletErrorPages: ErrorPages = {
  wallet_not_enabled: 'endUser.wallet.notEnabled',
  invalid_token: 'endUser.wallet.invalidLink',
};
