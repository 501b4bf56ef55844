// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.7.0;

import "@safe-global/safe-contracts/contracts/Safe.sol";
import "@safe-global/safe-contracts/contracts/proxies/SafeProxyFactory.sol";
import "@safe-global/safe-contracts/contracts/handler/CompatibilityFallbackHandler.sol";

/// The code that holders delegate to, and that answers when they are sent a token.
contract ReceiveHandler is CompatibilityFallbackHandler {
    constructor(address[] memory) {}
}

contract SafeAccount {
    address public deployed;

    constructor(address[] memory owners) {
        bytes memory setup = abi.encodeWithSelector(
            Safe.setup.selector,
            owners,
            1,
            address(0),
            "",
            address(new CompatibilityFallbackHandler()),
            address(0),
            0,
            address(0)
        );
        deployed = address(new SafeProxyFactory().createProxyWithNonce(address(new Safe()), setup, 0));
    }
}
