/** Of a request, what scheme `v1` signs. */
interface Call {
  /** The `origin` header. */
  origin: string;
  /** The `x-timestamp` header: Unix milliseconds. */
  timestamp: string;
  apiKey: string;
}

/** Of a request, what scheme `v2` signs. */
export interface WholeRequest extends Call {
  method: string;
  /** Path and query, as sent. */
  url: string;
  /** SHA-256 of the raw body, lower hex. */
  bodyHash: string;
}

/** The text that an app signs by EIP-191. Scheme `v1` says who calls and when, not what. */
export const v1Text = ({ origin, timestamp, apiKey }: Call): string =>
  `${new URL(origin).hostname}:${timestamp}:${apiKey}`.toLowerCase();

/** Scheme `v2` says all of it; each signature is accepted once. */
export const v2Text = ({ method, url, origin, timestamp, apiKey, bodyHash }: WholeRequest): string =>
  ['v2', method, url, timestamp, origin, apiKey, bodyHash].join('\n');

/** Whom an app that may speak for the users of the messenger logs in. */
export interface MessengerUser {
  messengerId: string;
  username: string;
  firstname: string;
  lastname: string;
  domainId: number;
  /** Unix milliseconds. */
  timestamp: number;
  apiKey: string;
}

/** The text that an app signs by EIP-191 for a user of the messenger. Each signature is accepted once. */
export const messengerUserText = (user: MessengerUser): string => {
  const { messengerId, username, firstname, lastname, domainId, timestamp, apiKey } = user;
  const rest = [String(domainId), String(timestamp), apiKey];
  return ['messenger-user', messengerId, username, firstname, lastname, ...rest].join('\n');
};
