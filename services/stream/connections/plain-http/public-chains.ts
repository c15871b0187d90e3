import type { Settings } from '../../../../shared/config/settings.ts';

/** Whether the events of a chain may be read without a token. */
export const isPublic = ({ CHAINS }: Pick<Settings, 'CHAINS'>, chainId: number): boolean =>
  CHAINS?.find((chain) => chain.chainId === chainId)?.public === true;
