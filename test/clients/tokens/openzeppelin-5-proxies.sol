// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

import "@openzeppelin/contracts/proxy/Clones.sol";
import "@openzeppelin/contracts/proxy/ERC1967/ERC1967Proxy.sol";
import "@openzeppelin/contracts/proxy/beacon/BeaconProxy.sol";
import "@openzeppelin/contracts/proxy/beacon/UpgradeableBeacon.sol";
import "@openzeppelin/contracts/proxy/transparent/TransparentUpgradeableProxy.sol";
import "@openzeppelin/contracts-upgradeable/proxy/utils/UUPSUpgradeable.sol";
import "@openzeppelin/contracts-upgradeable/token/ERC20/ERC20Upgradeable.sol";
import "@openzeppelin/contracts-upgradeable/token/ERC721/ERC721Upgradeable.sol";
import "@openzeppelin/contracts-upgradeable/token/ERC1155/ERC1155Upgradeable.sol";

contract Erc20Logic is ERC20Upgradeable {
    function initialize(address[] calldata holders) external initializer {
        __ERC20_init("Token", "T");
        for (uint256 i = 0; i < holders.length; i++) _mint(holders[i], 1500.5 ether + i);
    }
}

contract Erc721Logic is ERC721Upgradeable, UUPSUpgradeable {
    function initialize(address[] calldata holders) external initializer {
        __ERC721_init("Token", "T");
        for (uint256 i = 0; i < holders.length * 3; i++) _mint(holders[i / 3], i + 1);
    }

    function _authorizeUpgrade(address) internal override {}
}

contract Erc1155Logic is ERC1155Upgradeable {
    function initialize(address[] calldata holders) external initializer {
        for (uint256 i = 0; i < holders.length; i++) _mint(holders[i], i + 1, 10 + i, "");
    }
}

contract TransparentErc20 is TransparentUpgradeableProxy {
    constructor(address[] memory holders)
        TransparentUpgradeableProxy(
            address(new Erc20Logic()),
            msg.sender,
            abi.encodeCall(Erc20Logic.initialize, (holders))
        )
    {}
}

contract UupsErc721 is ERC1967Proxy {
    constructor(address[] memory holders)
        ERC1967Proxy(address(new Erc721Logic()), abi.encodeCall(Erc721Logic.initialize, (holders)))
    {}
}

contract BeaconErc1155 is BeaconProxy {
    constructor(address[] memory holders)
        BeaconProxy(
            address(new UpgradeableBeacon(address(new Erc1155Logic()), msg.sender)),
            abi.encodeCall(Erc1155Logic.initialize, (holders))
        )
    {}
}

/// A beacon's proxy of a minimal proxy of a token.
contract NestedErc721 is BeaconProxy {
    constructor(address[] memory holders)
        BeaconProxy(
            address(new UpgradeableBeacon(Clones.clone(address(new Erc721Logic())), msg.sender)),
            abi.encodeCall(Erc721Logic.initialize, (holders))
        )
    {}
}

contract CloneErc20 {
    address public deployed = Clones.clone(address(new Erc20Logic()));

    constructor(address[] memory holders) {
        Erc20Logic(deployed).initialize(holders);
    }
}

contract CloneErc721 {
    address public deployed = Clones.clone(address(new Erc721Logic()));

    constructor(address[] memory holders) {
        Erc721Logic(deployed).initialize(holders);
    }
}

contract CloneErc1155 {
    address public deployed = Clones.clone(address(new Erc1155Logic()));

    constructor(address[] memory holders) {
        Erc1155Logic(deployed).initialize(holders);
    }
}

/// A proxy that was never initialised.
contract EmptyClone {
    address public deployed = Clones.clone(address(new Erc20Logic()));

    constructor(address[] memory) {}
}
