/** Injection tokens of values that are bound once per process. `Transactor` is its own token. */
export const EVENT_STORE = Symbol('EventStore');
export const READ_STORE = Symbol('ReadStore');
export const MESSAGE_BUS = Symbol('MessageBus');
export const CLOCK = Symbol('Clock');
export const IDS = Symbol('Ids');
export const SETTINGS = Symbol('Settings');
export const LOGGER = Symbol('Logger');
/** Only in a service that opens the key vault. */
export const MASTER_KEY = Symbol('MasterKey');
export const EDGE_KEY = Symbol('EdgeKey');
/** Encrypts kept answers: the master key if there is one, so that no other service can open them. */
export const ANSWERS_KEY = Symbol('AnswersKey');
/** `TokenIssuer`: the issuer of the access tokens that this service trusts. */
export const TOKEN_ISSUER = Symbol('TokenIssuer');
