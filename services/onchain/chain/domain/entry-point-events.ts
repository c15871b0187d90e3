/** `UserOperationEvent(bytes32 indexed, address indexed, address indexed, uint256, bool, uint256, uint256)` */
export const USER_OPERATION_EVENT = '0x49628fd1471006c1482da88028e9ce4dbb080b815c9b0344d39e5a8e6ec1419f';
/** `BeforeExecution()`: logged after all operations of a bundle were validated. */
export const BEFORE_EXECUTION = '0xbb47ee3e183a558b1a2ff0874b079f3fc5478b7454eacf2bfc5af2ff5878f972';
