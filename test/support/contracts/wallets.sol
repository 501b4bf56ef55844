// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";

/// A wallet of one key (ERC-1271).
contract OwnedWallet is IERC1271 {
    address public owner;

    constructor(address initialOwner) {
        owner = initialOwner;
    }

    function isValidSignature(bytes32 hash, bytes calldata signature) public view virtual returns (bytes4) {
        (address signer, ECDSA.RecoverError error,) = ECDSA.tryRecover(hash, signature);
        bool isValid = error == ECDSA.RecoverError.NoError && signer == owner && owner != address(0);
        return isValid ? this.isValidSignature.selector : bytes4(0xffffffff);
    }
}

/// A wallet that anybody initialises: it reverts until then.
contract OpenWallet is OwnedWallet(address(0)) {
    function initialise(address newOwner) external {
        owner = newOwner;
    }

    function isValidSignature(bytes32 hash, bytes calldata signature) public view override returns (bytes4) {
        require(owner != address(0), "not initialised");
        return super.isValidSignature(hash, signature);
    }
}

/// A wallet whose own check runs out of gas and that goes on (as one behind a registry of modules
/// does).
contract SwallowingWallet is IERC1271 {
    function spin() external pure {
        while (true) {}
    }

    function isValidSignature(bytes32, bytes calldata) external view returns (bytes4) {
        try this.spin() {} catch {}
        return 0xffffffff;
    }
}

/// Deploys wallets at addresses that are known before (CREATE2), and worse.
contract WalletFactory {
    function addressOf(address owner, bytes32 salt) public view returns (address) {
        bytes32 code = keccak256(abi.encodePacked(type(OwnedWallet).creationCode, abi.encode(owner)));
        return address(uint160(uint256(keccak256(abi.encodePacked(bytes1(0xff), address(this), salt, code)))));
    }

    function deploy(address owner, bytes32 salt) external returns (address) {
        return address(new OwnedWallet{salt: salt}(owner));
    }

    function burn() external pure {
        while (true) {}
    }

    function fail() external pure {
        revert("not today");
    }
}
