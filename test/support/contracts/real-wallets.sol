// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {Account} from "@openzeppelin/contracts/account/Account.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {ERC7739} from "@openzeppelin/contracts/utils/cryptography/signers/draft-ERC7739.sol";
import {SignerECDSA} from "@openzeppelin/contracts/utils/cryptography/signers/SignerECDSA.sol";
import {ERC4337} from "solady/src/accounts/ERC4337.sol";
import {ERC4337Factory} from "solady/src/accounts/ERC4337Factory.sol";

/// Accounts of libraries, with no more than the libraries leave open.
contract OpenZeppelinAccount is Account, ERC7739, SignerECDSA {
    constructor(address owner) EIP712("OpenZeppelinAccount", "1") SignerECDSA(owner) {}
}

contract OpenZeppelinFactory {
    function createAccount(address owner) external returns (address) {
        return address(new OpenZeppelinAccount{salt: bytes32(0)}(owner));
    }
}

contract SoladyAccount is ERC4337 {
    function _domainNameAndVersion() internal pure override returns (string memory, string memory) {
        return ("SoladyAccount", "1");
    }
}

contract SoladyFactory is ERC4337Factory {
    constructor(address implementation) ERC4337Factory(implementation) {}
}
