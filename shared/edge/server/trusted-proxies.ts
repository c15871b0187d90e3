import { BlockList, isIPv6 } from 'node:net';
import type { Settings } from '../../config/settings.ts';

/** Returns a test whether an address is a proxy, whose connections belong to many callers. */
export const trustedProxies = ({
  TRUSTED_PROXIES,
}: Pick<Settings, 'TRUSTED_PROXIES'>): ((address: string) => boolean) => {
  const proxies = new BlockList();
  for (const proxy of TRUSTED_PROXIES) {
    const [address = '', bits] = proxy.split('/');
    const family = familyOf(address);
    if (bits === undefined) proxies.addAddress(address, family);
    else proxies.addSubnet(address, Number(bits), family);
  }
  return (address) => proxies.check(address, familyOf(address));
};

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIPv6(address) ? 'ipv6' : 'ipv4');
