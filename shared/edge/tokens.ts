/** Injection tokens of what is bound once per process. `Transactor` is its own token. */
export const EVENT_STORE = Symbol('EventStore');
export const READ_STORE = Symbol('ReadStore');
export const MESSAGE_BUS = Symbol('MessageBus');
export const CLOCK = Symbol('Clock');
export const IDS = Symbol('Ids');
export const SETTINGS = Symbol('Settings');
export const LOGGER = Symbol('Logger');
export const MASTER_KEY = Symbol('MasterKey');
/** `TokenIssuer`: the issuer of the access tokens that this service trusts. */
export const TOKEN_ISSUER = Symbol('TokenIssuer');
