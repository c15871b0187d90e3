/** A URL with one or more hosts, which `URL` cannot parse: `mongodb://user:password@a:1,b:2/?w=majority`. */
export interface ServerUrl {
  scheme: string;
  username: string;
  password: string;
  /** At least one host, with its port if the URL has one. */
  hosts: string[];
  /** Names in lower case, in the order of the URL. */
  options: [name: string, value: string][];
}

const SHAPE = /^([a-z][a-z+]*):\/\/(?:([^@:/?#]*)(?::([^@:/?#]*))?@)?([^@/?#]+)(?:\/[^?#]*)?(?:\?([^#]*))?$/i;
const HOST = /^(?:\[[\da-f:.]+\]|[\w.%-]+)(?::(\d{1,5}))?$/i;
const PORT_MAX = 65_535;

/** @returns `undefined` if the text is not a server URL */
export const readServerUrl = (text: string): ServerUrl | undefined => {
  const [, scheme, username = '', password = '', hostList, query = ''] = SHAPE.exec(text) ?? [];
  const hosts = hostList?.split(',') ?? [];
  if (scheme === undefined || !hosts.every(isHost)) return undefined;
  try {
    return {
      scheme: scheme.toLowerCase(),
      username: decodeURIComponent(username),
      password: decodeURIComponent(password),
      hosts,
      options: [...new URLSearchParams(query)].map(([name, value]) => [name.toLowerCase(), value]),
    };
  } catch {
    return undefined;
  }
};

const isHost = (text: string): boolean => {
  const host = HOST.exec(text);
  return host !== null && Number(host[1] ?? 0) <= PORT_MAX;
};
